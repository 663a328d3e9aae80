/**
 * What is known about endpoints that are slow or fail, kept after their lanes are forgotten, and not beyond the lease of
 * their shard: what happened at another owner only the database knows.
 */
import { LRUCache } from "lru-cache"
import { FIRST_CAP, type Lane } from "./Lane.ts"

const MOST = 10_000

export class Reputations {
  private readonly known = new LRUCache<string, Pick<Lane, "cap" | "failures" | "shard">>({ max: MOST })

  /** A lane that probes and is made again does not pause: its last pause is over. */
  recall(lane: Lane): void {
    const known = this.known.get(lane.endpointId)
    if (known === undefined) return
    lane.cap = Math.min(known.cap, lane.cap)
    lane.failures = known.failures
  }

  forgetShard(shard: number): void {
    for (const [endpointId, known] of this.known) if (known.shard === shard) this.known.delete(endpointId)
  }

  remember({ cap, endpointId, failures, shard }: Lane): void {
    if (cap >= FIRST_CAP && !failures) this.known.delete(endpointId)
    else this.known.set(endpointId, { cap: Math.min(cap, FIRST_CAP), failures, shard })
  }

  /** The endpoint was changed, after so many attempts in a row that were not delivered: its lane begins without a pause. */
  mended(endpointId: string, failures: number, shard: number): void {
    const cap = this.known.get(endpointId)?.cap ?? FIRST_CAP
    this.known.set(endpointId, { cap, failures, shard })
  }
}
