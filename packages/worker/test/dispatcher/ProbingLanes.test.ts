/**
 * A receiver that is away for a moment, on a real PostgreSQL: its endpoint is probed until it is back, and at once after a
 * repair.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { FAILURE_LIMIT } from "@posthorn/domain/DeliveryPolicy"
import { leastUnitsTo, pauseUnits } from "@posthorn/domain/Probing"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import {
  away,
  drained,
  endpoint,
  endpointRow,
  publish,
  Setting,
  testSend,
  until,
  worker,
  workspace
} from "../Setting.ts"

const RETRY_DELAY_MS = 800
const PAUSES_MS = [3, 4, 5, 6].map((failures) => pauseUnits(failures) * RETRY_DELAY_MS)
/** Longer than any test. */
const LONG_DELAY_MS = 600_000

const beganAt = (endpointId: string) =>
  Effect.map(
    rows<{ at: string }>`select a.at::text from posthorn.attempts a
        join posthorn.deliveries d on d.workspace_id = a.workspace_id and d.id = a.delivery_id
        where d.endpoint_id = ${endpointId} order by a.at`,
    (found) => found.map(({ at }) => Date.parse(at))
  )

const attemptsOf = (endpointId: string) => Effect.map(beganAt(endpointId), (attempts) => attempts.length)

layer(Setting, { excludeTestServices: true })("a lane that fails", (it) => {
  it.scoped("§3.4 needs at least 8 retry delays until 20 failures in a row disable its endpoint", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/ok"))
      yield* worker({ retryDelayMs: RETRY_DELAY_MS })
      // It has earned all its slots before its receiver goes away.
      yield* publish(acme, 100)
      yield* drained(acme)
      const sql = yield* SqlClient.SqlClient
      yield* sql`update posthorn.endpoints set url = ${receiver.url("/status/503")} where id = ${id}`

      yield* publish(acme, 60)
      yield* until(endpointRow(id), ({ enabled }) => !enabled)

      const failed = (yield* beganAt(id)).slice(100)
      assert.strictEqual((yield* endpointRow(id)).consecutive_failures, 20)
      assert.lengthOf(failed, 20)
      assert.isAtLeast(failed.at(-1)! - failed[0]!, leastUnitsTo(FAILURE_LIMIT, 10) * RETRY_DELAY_MS)
    })
  )

  it.scoped("§3.4 makes its attempts one at a time, with pauses that double, until one succeeds", () =>
    Effect.gen(function* () {
      const { behaviour, state } = away()
      const receiver = yield* makeReceiver({ behaviours: { "/restarting": behaviour } })
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/restarting"))
      yield* worker({ retryDelayMs: RETRY_DELAY_MS, endpointConcurrency: 1 })
      yield* publish(acme, 60)

      yield* receiver.waitFor(8)
      state.back = true
      const requests = yield* receiver.waitFor(50)

      const gaps = requests.slice(1).map(({ at }, n) => at - requests[n]!.at)
      const least = [0, 0, ...PAUSES_MS, PAUSES_MS[3]!]
      assert.deepStrictEqual(
        least.map((pause, n) => gaps[n]! >= pause - 1),
        least.map(() => true),
        `gaps of ${gaps.slice(0, 10)} ms`
      )
      // Without pauses there would be forty more; a stalling machine merges some of them.
      const later = gaps.slice(8).toSorted((a, b) => a - b)
      assert.isBelow(later[20]!, PAUSES_MS[0]!)
      assert.isTrue((yield* endpointRow(id)).enabled)
    })
  )

  it.scoped("§3.4 starts probing anew at a new worker: the database tells it the streak", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/status/503"))
      const sql = yield* SqlClient.SqlClient
      yield* sql`update posthorn.endpoints set consecutive_failures = 10 where id = ${id}`
      yield* publish(acme, 20)
      yield* worker({ retryDelayMs: RETRY_DELAY_MS })
      const requests = yield* receiver.waitFor(3)

      const gaps = requests.slice(1).map(({ at }, n) => at - requests[n]!.at)
      assert.isAtLeast(Math.min(...gaps), PAUSES_MS[3]! - 1)
    })
  )

  it.scoped("§3.4 lets a test send pass at once, and is no longer limited once that is delivered", () =>
    Effect.gen(function* () {
      const { behaviour, state } = away()
      const receiver = yield* makeReceiver({ behaviours: { "/restarting": behaviour } })
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/restarting"))
      yield* worker({ retryDelayMs: LONG_DELAY_MS })
      yield* publish(acme, 20)
      yield* until(endpointRow(id), ({ consecutive_failures }) => consecutive_failures >= 3)
      state.back = true

      yield* testSend(acme, id)
      yield* until(endpointRow(id), ({ consecutive_failures }) => consecutive_failures === 0)

      // Everything that was not tried yet.
      yield* until(attemptsOf(id), (attempts) => attempts === 21)
    })
  )

  it.scoped("§3.4 probes at once when its endpoint gets another URL or policy, or is enabled", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const sql = yield* SqlClient.SqlClient
      yield* worker({ retryDelayMs: LONG_DELAY_MS })
      const { id } = yield* endpoint(acme, receiver.url("/status/503"))
      yield* publish(acme, 20)
      yield* until(endpointRow(id), ({ consecutive_failures }) => consecutive_failures >= 3)
      const failed = yield* attemptsOf(id)

      yield* sql`update posthorn.endpoints set policy = '{"jitter": 0.1}' where id = ${id}`
      yield* until(attemptsOf(id), (attempts) => attempts === failed + 1)
      yield* sql`update posthorn.endpoints set enabled = false, disabled_reason = 'manual' where id = ${id}`
      yield* sql`update posthorn.endpoints set enabled = true, disabled_reason = null, consecutive_failures = 3,
        generation = generation + 1 where id = ${id}`
      yield* until(attemptsOf(id), (attempts) => attempts === failed + 2)
      yield* sql`update posthorn.endpoints set url = ${receiver.url("/ok")} where id = ${id}`
      yield* until(attemptsOf(id), (attempts) => attempts === 20)
    })
  )
})
