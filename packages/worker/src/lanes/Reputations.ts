/** What is known about endpoints that are slow or fail, kept after their lanes are forgotten. */
import { LRUCache } from "lru-cache"
import { FIRST_CAP, type Lane } from "./Lane.ts"

const MOST = 10_000

export class Reputations {
  private readonly known = new LRUCache<string, Pick<Lane, "cap" | "failures">>({ max: MOST })

  recall(lane: Lane): void {
    const known = this.known.get(lane.endpointId)
    if (known === undefined) return
    lane.cap = Math.min(known.cap, lane.cap)
    lane.failures = known.failures
  }

  remember({ cap, endpointId, failures }: Lane): void {
    if (cap >= FIRST_CAP && !failures) this.known.delete(endpointId)
    else this.known.set(endpointId, { cap: Math.min(cap, FIRST_CAP), failures })
  }
}
