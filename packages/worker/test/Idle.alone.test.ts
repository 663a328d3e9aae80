/** The statements of an idle worker. */
import * as SqlClient from "@effect/sql/SqlClient"
import { layer } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import pg from "pg"
import { expect, vi } from "vitest"
import { drained, endpoint, publish, Setting, worker, workspace } from "./Setting.ts"

const SECONDS = 12
/** A beat each second; now and then a poll, dead letters, replay jobs, and checks of connections. */
const MOST_A_SECOND = 2

/** Two polls a second more, and as many tries to take the locks. */
const MOST_BESIDE_A_FROZEN_ONE = 7

layer(Setting, { excludeTestServices: true })("an idle worker", (it) => {
  it.scoped(`§3.4 sends the database at most ${MOST_A_SECOND} statements a second`, () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/status/200"))
      yield* worker()
      yield* publish(acme, 3)
      yield* drained(acme)
      // biome-ignore lint/plugin: what the last events caused is over by then
      yield* Effect.sleep("1 second")

      const sent = vi.spyOn(pg.Client.prototype, "query")
      // biome-ignore lint/plugin: what is sent in this time is counted
      yield* Effect.sleep(`${SECONDS} seconds`)
      const count = sent.mock.calls.length
      sent.mockRestore()

      // At least its beats must be counted, or this test counts nothing.
      expect(count).toBeGreaterThan(SECONDS)
      expect(count).toBeLessThanOrEqual(MOST_A_SECOND * SECONDS)
    })
  )

  it.scoped(
    `§3.4 sends at most ${MOST_BESIDE_A_FROZEN_ONE} a second while a frozen worker has its sleep locks, and is notified of events`,
    () =>
      Effect.gen(function* () {
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        yield* endpoint(acme, receiver.url("/notified"))
        const sql = yield* SqlClient.SqlClient
        const frozen = yield* sql.reserve
        yield* frozen.execute(
          "select pg_advisory_lock(posthorn.sleep_lock_class(), shard) from generate_series(0, 31) as shard",
          [],
          undefined
        )
        yield* worker()
        // biome-ignore lint/plugin: its beginning is over by then
        yield* Effect.sleep("2 seconds")

        const sent = vi.spyOn(pg.Client.prototype, "query")
        // biome-ignore lint/plugin: what is sent in this time is counted
        yield* Effect.sleep(`${SECONDS} seconds`)
        const count = sent.mock.calls.length
        sent.mockRestore()
        expect(count).toBeLessThanOrEqual(MOST_BESIDE_A_FROZEN_ONE * SECONDS)

        const publishing = Effect.gen(function* () {
          const before = receiver.receivedAt("/notified").length
          const at = performance.now()
          yield* publish(acme)
          yield* receiver.waitFor(before + 1, "/notified")
          return performance.now() - at
        })
        expect(yield* atBest(200, publishing, (ms) => ms)).toBeLessThan(200)
      })
  )
})
