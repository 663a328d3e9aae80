/** A worker that is killed every few seconds: an endpoint with a rate limit gets its deliveries all the same, a little later. */
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Clock, Effect, Fiber, Schedule } from "effect"
import { endpoint, Setting, setPolicy, workspace } from "../Setting.ts"
import { idOf, lawsHold, publishTo, tally, within } from "./Story.ts"

const KILLS = 9
/** Half of what the rate allows, for a minute. */
const PUBLISHED = 300
const LATE_MS = 10_000

it.scopedLive(
  "§3.5 nine kills in a minute make deliveries of an endpoint with a rate limit at most 10 s late",
  () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/ok"), "e.n0")
      yield* setPolicy(id, { rateLimit: { requests: 10, perSeconds: 1 } })
      let worker = yield* startWorker()
      const replace = Effect.gen(function* () {
        worker.signal("SIGKILL")
        yield* worker.ended
        worker = yield* startWorker()
      })
      const kills = yield* replace.pipe(
        Effect.schedule(Schedule.intersect(Schedule.fixed("6.5 seconds"), Schedule.recurs(KILLS))),
        Effect.fork
      )
      const publishedAt = new Map<string, number>()
      const publish = Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        for (const deliveryId of yield* publishTo(acme, 1)) publishedAt.set(deliveryId, at)
      })
      yield* Effect.schedule(
        publish,
        Schedule.intersect(Schedule.fixed("200 millis"), Schedule.recurs(PUBLISHED))
      )
      yield* Fiber.join(kills)
      yield* within(25, tally, ({ delivered }) => delivered === PUBLISHED)

      const firstAt = new Map(receiver.received.toReversed().map((request) => [idOf(request), request.at]))
      const late = [...publishedAt].map(([deliveryId, at]) => firstAt.get(deliveryId)! - at)
      expect(Math.max(...late)).toBeLessThan(LATE_MS)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  120_000
)
