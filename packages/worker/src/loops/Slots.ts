/**
 * One fiber for each request that may be in flight. A fiber attempts a ready delivery (attempt/Attempt.ts), then takes the next.
 * Nothing is sent without the lease of its shard. A fiber is interruptible while it waits, never within a request. Source: spec
 * §3.1, §8 and §3.4, docs/adr/0014-cost-of-a-delivery.md.
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Effect } from "effect"
import { makeAttempt } from "../attempt/Attempt.ts"
import { Signal } from "../internal/Signal.ts"
import type { Parts } from "../Parts.ts"

export interface Slots {
  readonly run: Effect.Effect<void>
  readonly fill: Effect.Effect<void>
}

export const makeSlots = (parts: Parts): Slots => {
  const { clock, dispatcher, ownership, slots } = parts
  const attempt = makeAttempt(parts)

  /** A `Mailbox` or a semaphore would wake all fibers for one delivery. */
  const idle: Array<Signal> = []

  const start = () =>
    dispatcher.ready.length > 0 ? dispatcher.start(elapsed(clock), ownership.holdsLease()) : undefined

  const fill = Effect.sync(() => {
    for (let n = dispatcher.ready.length; n > 0; n--) idle.pop()?.notify()
  })

  /** A defect ended a slot: the others end after their attempt. */
  let isBroken = false

  const slot = Effect.uninterruptibleMask((restore) => {
    const signal = new Signal()
    const wait = restore(signal.wait)
    const next = () => {
      const ready = start()
      if (ready !== undefined) return attempt(ready)
      idle.push(signal)
      return wait
    }
    return Effect.whileLoop({ while: () => !isBroken, body: next, step: () => undefined })
  }).pipe(Effect.onError(() => Effect.sync(() => (isBroken = true))))

  return {
    fill,
    run: Effect.forEach(Array.from({ length: slots }), () => slot, {
      concurrency: "unbounded",
      discard: true
    })
  }
}
