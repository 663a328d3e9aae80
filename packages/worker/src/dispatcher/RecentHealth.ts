/**
 * What is known about endpoints that are slow, fail or have a rate, kept after their lanes are forgotten, and not beyond the lease of
 * their shard: what happened at another owner only the database knows.
 */
import { LRUCache } from "lru-cache"
import { FIRST_CAP, type Lane } from "./Lane.ts"

const MOST = 10_000

export class RecentHealth {
  private readonly known = new LRUCache<string, Pick<Lane, "cap" | "failures" | "rate" | "shard">>({
    max: MOST
  })

  /** A lane that probes and is made again does not pause: its last pause is over. */
  recall(lane: Lane): void {
    const known = this.known.get(lane.endpointId)
    if (known === undefined) return
    lane.cap = Math.min(known.cap, lane.cap)
    lane.failures = known.failures
    lane.rate = known.rate
    // A lane that waits for its rate does not load, so it would not learn that the rate has been changed.
    if (lane.rate) lane.rate.stale = true
  }

  forgetShard(shard: number): void {
    for (const [endpointId, known] of this.known) if (known.shard === shard) this.known.delete(endpointId)
  }

  remember({ cap, endpointId, failures, rate, shard }: Lane): void {
    if (cap >= FIRST_CAP && !failures && !rate) this.known.delete(endpointId)
    else this.known.set(endpointId, { cap: Math.min(cap, FIRST_CAP), failures, rate, shard })
  }

  /** The endpoint was changed, after so many attempts in a row that were not delivered: its lane begins without a pause. */
  endpointChanged(endpointId: string, failures: number, shard: number): void {
    const { cap = FIRST_CAP, rate } = this.known.get(endpointId) ?? {}
    this.known.set(endpointId, { cap, failures, rate, shard })
  }
}
