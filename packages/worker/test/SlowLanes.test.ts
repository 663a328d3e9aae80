/** A receiver that is away for a moment, on a real PostgreSQL: its endpoint is tried slowly until it is back. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { type Behaviour, make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { drained, endpoint, endpointRow, publish, Setting, until, worker, workspace } from "./Setting.ts"

/** The pauses are a 120th, a 60th and then a 30th of it. */
const RETRY_DELAY_MS = 6_000
const PAUSES_MS = [50, 100, 200]

/** Answers 503, until told that it is back. */
const restarting = () => {
  const state = { back: false }
  const behaviour: Behaviour = (answer) => {
    answer.reply(state.back ? 200 : 503)
  }
  return { state, behaviour }
}

const beganAt = (endpointId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ at: string }>`select a.at::text from posthorn.attempts a
        join posthorn.deliveries d on d.workspace_id = a.workspace_id and d.id = a.delivery_id
        where d.endpoint_id = ${endpointId} order by a.at`,
      (rows) => rows.map(({ at }) => Date.parse(at))
    )
  )

layer(Setting, { excludeTestServices: true })("a lane that fails", (it) => {
  it.scoped("§3.4 needs at least a quarter of the retry delay until 20 in a row disable its endpoint", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/ok"))
      yield* worker({ retryDelayMs: RETRY_DELAY_MS })
      // It has earned all its slots when its receiver goes away.
      yield* publish(acme, 100)
      yield* drained(acme)
      const sql = yield* SqlClient.SqlClient
      yield* sql`update posthorn.endpoints set url = ${receiver.url("/status/503")} where id = ${id}`

      yield* publish(acme, 60)
      yield* until(endpointRow(id), ({ enabled }) => !enabled)

      const failed = (yield* beganAt(id)).slice(100)
      assert.strictEqual((yield* endpointRow(id)).consecutive_failures, 20)
      assert.lengthOf(failed, 20)
      assert.isAtLeast(failed.at(-1)! - failed[0]!, RETRY_DELAY_MS / 4)
    })
  )

  it.scoped("§3.4 makes its attempts one at a time, with pauses that double, until one is delivered", () =>
    Effect.gen(function* () {
      const { behaviour, state } = restarting()
      const receiver = yield* makeReceiver({ behaviours: { "/restarting": behaviour } })
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/restarting"))
      yield* worker({ retryDelayMs: RETRY_DELAY_MS, endpointConcurrency: 1 })
      yield* publish(acme, 60)

      yield* receiver.waitFor(8)
      state.back = true
      const requests = yield* receiver.waitFor(50)

      const gaps = requests.slice(1).map(({ at }, n) => at - requests[n]!.at)
      const least = [0, 0, ...PAUSES_MS, ...Array.from({ length: 3 }, () => PAUSES_MS[2]!)]
      assert.deepStrictEqual(
        least.map((pause, n) => gaps[n]! >= pause - 1),
        least.map(() => true),
        `gaps of ${gaps.slice(0, 10)} ms`
      )
      // Forty more without a pause: a machine that stands still makes one of some of them.
      const later = gaps.slice(9).toSorted((a, b) => a - b)
      assert.isBelow(later[20]!, PAUSES_MS[0]!)
      assert.isTrue((yield* endpointRow(id)).enabled)
    })
  )

  it.scoped("§3.4 is slow from the beginning at a worker that starts anew: the database tells", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/status/503"))
      const sql = yield* SqlClient.SqlClient
      yield* sql`update posthorn.endpoints set consecutive_failures = 10 where id = ${id}`
      yield* publish(acme, 20)
      yield* worker({ retryDelayMs: RETRY_DELAY_MS })
      const requests = yield* receiver.waitFor(4)

      const gaps = requests.slice(1).map(({ at }, n) => at - requests[n]!.at)
      assert.isAtLeast(Math.min(...gaps), PAUSES_MS[2]! - 1)
    })
  )
})
