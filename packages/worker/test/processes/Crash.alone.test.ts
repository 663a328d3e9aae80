/** kill -9 at the three critical moments: nothing is lost, and only unrecorded attempts are repeated. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Deferred, Effect } from "effect"
import { Setting, workspace } from "../Setting.ts"
import {
  attemptsStored,
  connectionsNamed,
  endpoints,
  lawsHold,
  publishTo,
  repeatsIn,
  shared,
  tally,
  timed,
  within
} from "./Story.ts"

const TAKE_OVER_MS = 10_000

it.scopedLive(
  "§3.4 claims within 10 s what a killed worker had claimed and not sent, and sends it once",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoints(acme, 10, () => receiver.url("/ok"))
      const doomed = yield* startWorker()
      yield* shared(25, 32)
      // Frozen while the table is being locked, so that it finds the work only when it can no longer read it.
      doomed.signal("SIGSTOP")
      yield* publishTo(acme, 10, 4)
      const locked = yield* Deferred.make<void>()
      const killed = yield* Deferred.make<void>()
      yield* sql`lock table posthorn.deliveries in access exclusive mode`.pipe(
        Effect.zipRight(Deferred.succeed(locked, undefined)),
        Effect.zipRight(Deferred.await(killed)),
        sql.withTransaction,
        Effect.fork
      )
      yield* Deferred.await(locked)
      doomed.signal("SIGCONT")
      yield* within(25, connectionsNamed("posthorn work"), (all) =>
        all.some(({ query, waits }) => waits === "Lock" && /posthorn\.(load|due)/.test(query))
      )

      doomed.signal("SIGKILL")
      yield* doomed.ended
      yield* Deferred.succeed(killed, undefined)
      yield* startWorker()
      const took = yield* timed(within(25, tally, (seen) => seen.delivered === 40))

      expect(took).toBeLessThan(TAKE_OVER_MS)
      expect(receiver.received).toHaveLength(40)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

it.scopedLive(
  "§3.4 claims within 10 s what a killed worker had sent, whatever the retry delay, and repeats nothing else",
  () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver({
        behaviours: { "/held": (answer) => void (answer.nth > 40 && answer.reply(200)) }
      })
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/held"))
      yield* publishTo(acme, 20, 10)
      const doomed = yield* startWorker()
      // Two to each: endpoints have not earned more slots yet.
      yield* receiver.waitFor(40)
      yield* startWorker()

      doomed.signal("SIGKILL")
      const took = yield* timed(receiver.waitFor(41))
      expect(took).toBeLessThan(TAKE_OVER_MS)

      yield* within(25, tally, (seen) => seen.delivered === 200)
      expect(repeatsIn(receiver.received)).toBe(40)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

it.scopedLive(
  "§3.4 after a kill at full speed repeats only what was answered and not yet recorded",
  () =>
    Effect.gen(function* () {
      let pid = 0
      const receiver = yield* makeReceiver({
        behaviours: {
          "/busy": (answer) => {
            if (answer.nth === 400) process.kill(pid, "SIGKILL")
            answer.reply(200)
          }
        }
      })
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/busy"))
      const doomed = yield* startWorker()
      pid = doomed.pid
      yield* publishTo(acme, 20, 50)
      yield* doomed.ended
      // Its last statement may still be running.
      yield* within(25, connectionsNamed("posthorn work"), (left) => left.length === 0)
      const unwritten = receiver.received.length - (yield* attemptsStored)

      yield* startWorker()
      yield* within(25, tally, (seen) => seen.delivered === 1_000)

      expect(unwritten).toBeGreaterThan(0)
      expect(repeatsIn(receiver.received)).toBe(unwritten)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)
