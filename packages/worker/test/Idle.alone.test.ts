/** The statements of an idle worker. */
import { layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import pg from "pg"
import { expect, vi } from "vitest"
import { drained, endpoint, publish, Setting, worker, workspace } from "./Setting.ts"

const SECONDS = 12
/** A beat each second; now and then a poll, dead letters, replay jobs, and checks of connections. */
const MOST_A_SECOND = 2

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
})
