/** SIGTERM: requests in flight are finished and recorded, none is repeated, and the shards are given back. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
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
} from "./processes/Story.ts"
import { queued, Setting, workspace } from "./Setting.ts"

const STOPPING =
  /^\{.*"message":"Stopping: what is in flight is finished first; Ctrl-C again stops at once\."\}\n/m
const ENDPOINTS = 50
const IN_FLIGHT = 100
/** 34 times 4 slots: a quarter stays free for receivers that answer, and 100 are for these. */
const SLOTS = { WORKER_BATCH_SIZE: "34" }

/** The shards that their last owner did not give back. */
const unclean = rows<{ shard: number }>`select shard from posthorn.shards where owner is not null`

it.scopedLive(
  "§6 on SIGTERM finishes 100 requests in flight within 15 s, repeats none, and leaves nothing in doubt",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({
        behaviours: { "/held": (answer) => void open.push(() => answer.reply(200)) }
      })
      const acme = yield* workspace
      yield* endpoints(acme, ENDPOINTS, () => receiver.url("/held"))
      yield* publishTo(acme, ENDPOINTS, 4)
      const worker = yield* startWorker(SLOTS)
      // Two to each endpoint, in every slot that the workspace may take.
      yield* receiver.waitFor(IN_FLIGHT)

      worker.signal("SIGTERM")
      const took = yield* timed(
        Effect.gen(function* () {
          // It has stopped listening: from here on nothing is started.
          yield* within(14, connectionsNamed("posthorn listener"), (left) => left.length === 0)
          for (const answer of open.splice(0)) answer()
          expect(yield* worker.ended).toEqual({ code: 0, signal: null })
        })
      )

      expect(took).toBeLessThan(15_000)
      expect(receiver.received).toHaveLength(IN_FLIGHT)
      expect(yield* attemptsStored).toBe(IN_FLIGHT)
      expect(yield* unclean).toEqual([])
      // A stop that takes longer than 300 ms is logged; a busy machine may need that long.
      expect(worker.log().replace(STOPPING, "")).toBe("")

      yield* startWorker(SLOTS)
      yield* receiver.waitFor(2 * IN_FLIGHT)
      // The next worker would count a claim before it sends a row in doubt.
      expect(yield* sql`select delivery_id from posthorn.queue where claims > 0`).toEqual([])
      for (const answer of open.splice(0)) answer()
      yield* within(30, tally, (seen) => seen.delivered === 2 * IN_FLIGHT)
      expect(repeatsIn(receiver.received)).toBe(0)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

it.scopedLive(
  "§6 on SIGTERM waits no longer for receivers that never answer than the request deadline",
  () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoints(acme, 10, () => receiver.url("/hang"))
      const worker = yield* startWorker({ DELIVERY_REQUEST_TIMEOUT: "2 seconds" })
      yield* shared(25, 32)
      yield* publishTo(acme, 10, 5)
      yield* receiver.waitFor(20)

      worker.signal("SIGTERM")
      const took = yield* timed(worker.ended)

      expect(yield* worker.ended).toEqual({ code: 0, signal: null })
      // Far less than the default deadline of 10 s.
      expect(took).toBeLessThan(8_000)
      expect(receiver.received).toHaveLength(20)
      expect(yield* tally).toEqual({ failed: 20, pending: 30 })
      expect(yield* queued(acme)).toBe(50)
      expect(yield* unclean).toEqual([])
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)
