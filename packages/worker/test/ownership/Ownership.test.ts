/** One, two, four workers on one database: each shard has one owner, and shares are evened out when workers come or go. */
import { expect, it } from "@effect/vitest"
import { IDLE_SESSION_TIMEOUT_MS } from "@posthorn/persistence/engine/ShardLocks"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { LEASE_TIMEOUT_MS, takeoverMs } from "../../src/ownership/Shards.ts"
import { HEARTBEAT_MS } from "../../src/Schedules.ts"
import {
  beatsLater,
  endpoints,
  holding,
  lawsHold,
  publishTo,
  repeatsIn,
  shared,
  tally,
  timed,
  within
} from "../processes/Story.ts"
import { Setting, workspace } from "../Setting.ts"

it("§3.4 while answers take a second, a dead worker's shards have another owner within 10 s, and it has stopped before", () => {
  expect(takeoverMs(1_000)).toBeLessThanOrEqual(10_000)
  expect(LEASE_TIMEOUT_MS + HEARTBEAT_MS).toBeLessThan(IDLE_SESSION_TIMEOUT_MS)
})

it.scopedLive(
  "§3.4 shares the shards evenly among one, two and four workers, sends nothing twice, and closes the gaps",
  () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoints(acme, 40, () => receiver.url("/ok"))
      const first = yield* startWorker()
      yield* shared(25, 32)
      const second = yield* startWorker()
      yield* shared(25, 16, 16)
      const [third] = yield* Effect.all([startWorker(), startWorker()], { concurrency: 2 })
      yield* shared(25, 8, 8, 8, 8)

      yield* publishTo(acme, 40, 50)
      yield* within(30, tally, (seen) => seen.delivered === 2_000)
      expect(receiver.received).toHaveLength(2_000)
      expect(repeatsIn(receiver.received)).toBe(0)

      second.signal("SIGTERM")
      yield* second.ended
      yield* shared(25, 11, 11, 10)
      third.signal("SIGKILL")
      expect(yield* timed(shared(25, 16, 16))).toBeLessThan(10_000)

      // Nothing is sent twice while shards are handed over either.
      yield* publishTo(acme, 40, 25)
      const fifth = yield* startWorker()
      yield* publishTo(acme, 40, 25)
      yield* shared(25, 11, 11, 10)
      first.signal("SIGTERM")
      yield* publishTo(acme, 40, 25)
      expect(yield* first.ended).toEqual({ code: 0, signal: null })
      yield* shared(25, 16, 16)
      yield* within(30, tally, (seen) => seen.delivered === 5_000)

      expect(receiver.received).toHaveLength(5_000)
      expect(repeatsIn(receiver.received)).toBe(0)
      expect(fifth.log()).toBe("")
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  240_000
)

it.scopedLive(
  "§3.4 hands a shard over only when nothing of it is in flight or unrecorded",
  () =>
    Effect.gen(function* () {
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({ behaviours: { "/held": holding(40, open) } })
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/held"))
      yield* publishTo(acme, 20, 5)
      yield* startWorker()
      yield* receiver.waitFor(40)

      yield* startWorker()
      yield* beatsLater(3)
      // The new worker has only shards without requests in flight.
      expect(receiver.received).toHaveLength(40)
      for (const answer of open.splice(0)) answer()
      yield* shared(25, 16, 16)
      yield* within(25, tally, (seen) => seen.delivered === 100)

      expect(receiver.received).toHaveLength(100)
      expect(repeatsIn(receiver.received)).toBe(0)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  240_000
)
