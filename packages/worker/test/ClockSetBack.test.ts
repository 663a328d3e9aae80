/** The wall clock of a worker's machine is set back by a year: nothing that waits for a duration notices. */
import { SqlError } from "@effect/sql/SqlError"
import { assert, describe, it } from "@effect/vitest"
import type { Due, LaneRef, Queue, Waiting } from "@posthorn/persistence/Queue"
import { ReplaySteps } from "@posthorn/persistence/ReplaySteps"
import type { SleepLocks } from "@posthorn/persistence/SleepLocks"
import { Effect, TestClock } from "effect"
import { makeReplays } from "../src/Replays.ts"
import { tuned } from "../src/Tuning.ts"
import { lookingOut, readerOf } from "./Reading.ts"

const YEAR_MS = 365 * 86_400_000

const row: Waiting = {
  workspaceId: "wsp_1",
  deliveryId: "whd_1",
  endpointId: "whe_1",
  shard: 0,
  due: 1,
  attempts: 0,
  takeUps: 0
}

const locks: SleepLocks = { take: (shards) => Effect.succeed(shards), giveBack: Effect.void }

/** Remembers each sweep, and how often somebody asked after parked endpoints. */
const watched = () => {
  const sweeps: Array<LaneRef | null> = []
  const asked: Array<string> = []
  const queue: Queue["Type"] = {
    due: (_marks, _skip, _perShard, _lookMost, lookout) =>
      Effect.map(
        lookingOut(lookout, () => false),
        (): Due => ({ horizon: 1_000_000_000, open: [], rows: [row], loaded: new Map(), stopped: [] })
      ),
    heads: (after) =>
      Effect.sync(() => {
        sweeps.push(after)
        return { rows: [row], next: null }
      }),
    nextDue: () => Effect.succeed(null),
    dueOf: () => Effect.succeed([]),
    load: () => Effect.succeed([]),
    takeUp: () => Effect.succeed(new Map()),
    disabledAmong: (lanes) =>
      Effect.sync(() => {
        asked.push(...lanes.map(({ endpointId }) => endpointId))
        return lanes.map(({ endpointId }) => endpointId)
      })
  }
  return { asked, queue, sweeps }
}

/** A clock that can be set back. */
const settable = Effect.map(Effect.clock, (real) => {
  let behind = 0
  const clock = { ...real, unsafeCurrentTimeMillis: () => real.unsafeCurrentTimeMillis() - behind }
  Object.assign(clock, {
    currentTimeMillis: Effect.sync(clock.unsafeCurrentTimeMillis),
    unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos(),
    sleep: real.sleep.bind(real)
  })
  const setBack = Effect.sync(() => {
    behind = YEAR_MS
  })
  return { clock, setBack }
})

/** A reader that listens, reads shard 0, and has a parked lane; its clock can be set back. */
const reading = Effect.gen(function* () {
  const { asked, queue, sweeps } = watched()
  const { clock, setBack } = yield* settable
  const { lanes, reader } = yield* Effect.withClock(readerOf(queue), clock)
  reader.hearing(locks)
  lanes.take(0, null)
  yield* Effect.forkScoped(Effect.withClock(reader.run, clock))
  yield* TestClock.adjust(100)
  lanes.park(row.endpointId)
  return { asked, lanes, reader, setBack, sweeps }
})

/** A job whose first step fails; gives how many steps were asked for. */
const replaying = Effect.gen(function* () {
  let asked = 0
  const steps: ReplaySteps["Type"] = {
    running: () => Effect.succeed([{ workspaceId: "wsp_1", id: "rpl_1" }]),
    step: () =>
      Effect.suspend(() => {
        asked += 1
        return asked === 1
          ? Effect.fail(new SqlError({ cause: new Error("a lock"), message: "It waited for a lock" }))
          : Effect.succeed({ outcome: "waiting" as const, made: 0 })
      })
  }
  const { clock, setBack } = yield* settable
  const replays = yield* Effect.provideService(makeReplays, ReplaySteps, steps)
  yield* Effect.forkScoped(
    Effect.withClock(
      replays.run(() => [0]),
      clock
    )
  )
  return { asked: () => asked, setBack }
})

describe("a clock that was set back", () => {
  it.scoped(
    "decision §7 does not keep the reader from asking whether a parked endpoint is enabled again",
    () =>
      Effect.gen(function* () {
        const { asked, setBack } = yield* reading
        yield* TestClock.adjust(2 * tuned.parkedCheckMs)
        const before = asked.length

        yield* setBack
        yield* TestClock.adjust(5 * tuned.parkedCheckMs)

        assert.isAtLeast(before, 1)
        assert.isAtLeast(asked.length - before, 4)
      })
  )

  it.scoped("decision §7 does not keep the reader from sweeping", () =>
    Effect.gen(function* () {
      const { setBack, sweeps } = yield* reading
      yield* TestClock.adjust(1_000)
      sweeps.length = 0

      yield* setBack
      yield* TestClock.adjust(tuned.sweepMs + 2_000)

      assert.lengthOf(sweeps, 1)
    })
  )
})

describe("a clock that was set back while a replay job rests", () => {
  it.scoped("decision §7 lets it go on after its 5 s", () =>
    Effect.gen(function* () {
      const { asked, setBack } = yield* replaying
      yield* TestClock.adjust("1 second")
      assert.equal(asked(), 1)

      yield* setBack
      yield* TestClock.adjust("10 seconds")

      assert.isAtLeast(asked(), 2)
    })
  )
})

describe("a listener that hears again", () => {
  it.scoped(
    "decision §7 has the reader look after parked endpoints at once: it may have missed that one was enabled",
    () =>
      Effect.gen(function* () {
        const { asked, lanes, reader } = yield* reading
        yield* TestClock.adjust(2 * tuned.parkedCheckMs)
        asked.length = 0
        reader.deaf()

        reader.hearing(locks)
        yield* TestClock.adjust(1)

        assert.deepEqual(asked, [row.endpointId])
        assert.lengthOf(lanes.parkedLanes(), 1)
      })
  )
})
