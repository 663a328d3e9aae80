/** A worker that freezes and comes back: others have gone on meanwhile, and its late results change nothing. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { scrape } from "../processes/Scrapes.ts"
import {
  attemptsStored,
  endpoints,
  idOf,
  lawsHold,
  publishTo,
  repeatsIn,
  shared,
  tally,
  timed,
  within
} from "../processes/Story.ts"
import { Setting, workspace } from "../Setting.ts"

/** Retries come after the test; it waits only for the first pause of failing lanes, 7.5 s. */
const UNHURRIED = { DELIVERY_RETRY_DELAY: "1 minute" }

it.scopedLive(
  "§3.4 a frozen worker loses its shards within 10 s and, awake again, adds no attempt and no failure",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({
        // The first of each two is answered only while its worker is frozen, so the answer waits in its socket.
        behaviours: {
          "/late": (answer) => {
            if (answer.nth <= 40) open.push(() => void answer.reply(500))
            else answer.reply(500)
          }
        }
      })
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/late"))
      const ports = [String(yield* freePort), String(yield* freePort)] as const
      const frozen = yield* startWorker({ ...UNHURRIED, METRICS_PORT: ports[0] })
      yield* shared(25, 32)
      yield* publishTo(acme, 20, 3)
      yield* receiver.waitFor(40)
      frozen.signal("SIGSTOP")
      // biome-ignore lint/plugin: a signal takes effect by then
      yield* Effect.sleep("300 millis")
      for (const answer of open.splice(0)) answer()
      yield* startWorker({ ...UNHURRIED, METRICS_PORT: ports[1] })

      const took = yield* timed(shared(25, 32))
      expect(took).toBeLessThan(10_000)
      yield* within(25, tally, (seen) => seen.failed === 60)
      const attempts = yield* attemptsStored
      frozen.signal("SIGCONT")
      // Taking its share shows that it is back.
      yield* shared(25, 16, 16)
      const marker = yield* publishTo(acme, 20, 1)
      yield* within(25, tally, (seen) => seen.failed === 80)

      expect(attempts).toBe(60)
      expect(yield* attemptsStored).toBe(80)
      // What was in flight when it froze, and nothing else.
      expect(repeatsIn(receiver.received)).toBeGreaterThan(0)
      expect(repeatsIn(receiver.received)).toBeLessThanOrEqual(40)
      expect(receiver.received.filter((one) => marker.includes(idOf(one)))).toHaveLength(20)
      expect(
        yield* sql`select e.id, e.consecutive_failures from posthorn.endpoints e where e.consecutive_failures <>
          (select count(*) from posthorn.attempts a join posthorn.deliveries d on d.id = a.delivery_id
           where d.endpoint_id = e.id)`
      ).toEqual([])
      yield* lawsHold
      expect(frozen.running()).toBe(true)
      // Its late results are not counted either: the counts of both workers together equal what is on record.
      const counts = Effect.map(
        Effect.forEach(ports, (port) => scrape(`http://127.0.0.1:${port}`)),
        (all) =>
          [
            "posthorn_attempts_unrecorded",
            "posthorn_attempts_total",
            "posthorn_attempt_duration_seconds_count"
          ].map((name) => all.reduce((sum, one) => sum + one.sum(name), 0))
      )
      expect(yield* within(25, counts, ([unrecorded]) => unrecorded === 0)).toEqual([0, 80, 80])
    }).pipe(Effect.provide(Setting)),
  240_000
)
