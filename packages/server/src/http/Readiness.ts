/**
 * Whether this process wants traffic: it can serve, and it is not about to stop.
 *
 * On the way out it says no first and goes on serving until whoever asks regularly has heard it, so that a load
 * balancer sends nothing to a process that has stopped. Where nobody asks, stopping takes no time.
 */
import { Health } from "@posthorn/capabilities/Health"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Deferred, Effect } from "effect"

/** Whoever has heard yes twice, and lately, is taken to ask again. A script that waits for a start hears it once. */
const ASKED_LATELY_MS = 30_000
const PATIENCE = "10 seconds"

export class Readiness extends Effect.Service<Readiness>()("@posthorn/server/Readiness", {
  dependencies: [Health.Default],
  effect: Effect.gen(function* () {
    const health = yield* Health
    const heard = yield* Deferred.make<void>()
    let stopping = false
    let heardYes = 0
    let askedAt = Number.NEGATIVE_INFINITY

    const ask: Effect.Effect<boolean> = Effect.suspend(() => {
      if (stopping) return Effect.as(Deferred.succeed(heard, undefined), false)
      return Effect.tap(health.ready, (ready) =>
        Effect.map(elapsedNow, (now) => {
          askedAt = now
          if (ready) heardYes += 1
        })
      )
    })

    /** Say no from now on, and wait until it has been heard. */
    const stop = Effect.flatMap(elapsedNow, (now) => {
      stopping = true
      if (heardYes < 2 || now - askedAt > ASKED_LATELY_MS) return Effect.void
      return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(Deferred.await(heard)), PATIENCE))
    })

    return { ask, stop } as const
  })
}) {}
