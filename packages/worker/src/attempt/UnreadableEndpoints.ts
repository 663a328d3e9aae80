/**
 * Endpoints whose secret or request no key of this worker opens. The log has their number once a minute, however many deliveries
 * wait for them. The sweep tries each of them again. An endpoint that has another secret or profile is tried at once (Intake.usable).
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { type Clock, Effect } from "effect"

const AGAIN_MS = 60_000
/** The sweep has tried each again by then. An endpoint not found since can be read, has nothing waiting, or is another worker's. */
const FORGET_MS = 120_000

export class UnreadableEndpoints {
  /** When each was found last. */
  private readonly seen = new Map<string, number>()
  private saidAt = Number.NEGATIVE_INFINITY
  private readonly clock: Clock.Clock

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  get count(): number {
    const now = elapsed(this.clock)
    for (const [endpointId, at] of this.seen) if (now - at >= FORGET_MS) this.seen.delete(endpointId)
    return this.seen.size
  }

  found(endpointId: string, why: string): Effect.Effect<void> {
    const now = elapsed(this.clock)
    this.seen.set(endpointId, now)
    if (now - this.saidAt < AGAIN_MS) return Effect.void
    this.saidAt = now
    const { count } = this
    return Effect.logError(
      `Deliveries of ${count} ${count === 1 ? "endpoint" : "endpoints"} cannot be prepared: ${why}`
    )
  }

  readable(endpointId: string): void {
    if (this.seen.size > 0) this.seen.delete(endpointId)
  }
}
