/**
 * What is known of slow, failing or rate-limited endpoints, kept after their lanes are forgotten, within the lease of their
 * shard.
 */
import { LRUCache } from "lru-cache"
import { FIRST_LIMIT, type Lane } from "./Lane.ts"

const MOST = 10_000

interface Known extends Pick<Lane, "concurrencyLimit" | "isSlow" | "rateLimit" | "shard"> {
  readonly failures: number | null
}

export class RecentHealth {
  private readonly known = new LRUCache<string, Known>({ max: MOST })

  /** A circuit that was not closed is half-open now: a lane whose circuit is open is not forgotten. */
  recall(lane: Lane): void {
    const known = this.known.get(lane.endpointId)
    if (known === undefined) return
    lane.concurrencyLimit = Math.min(known.concurrencyLimit, lane.concurrencyLimit)
    lane.circuit.failures = known.failures
    lane.isSlow = known.isSlow
    lane.rateLimit = known.rateLimit
    // A waiting lane does not load, so it would not learn of a changed limit.
    if (lane.rateLimit) lane.rateLimit.stale = true
  }

  forgetShard(shard: number): void {
    for (const [endpointId, known] of this.known) if (known.shard === shard) this.known.delete(endpointId)
  }

  remember({ circuit: { failures }, concurrencyLimit, endpointId, isSlow, rateLimit, shard }: Lane): void {
    if (concurrencyLimit >= FIRST_LIMIT && !failures && !isSlow && !rateLimit) this.known.delete(endpointId)
    else {
      const limit = Math.min(concurrencyLimit, FIRST_LIMIT)
      this.known.set(endpointId, { concurrencyLimit: limit, failures, isSlow, rateLimit, shard })
    }
  }

  endpointChanged(endpointId: string, failures: number, shard: number): void {
    const { concurrencyLimit = FIRST_LIMIT, isSlow = null, rateLimit } = this.known.get(endpointId) ?? {}
    this.known.set(endpointId, { concurrencyLimit, failures, isSlow, rateLimit, shard })
  }
}
