/** The wall clock of a worker's machine is set back by a year: no wait for a duration is affected. */
import { SqlError } from "@effect/sql/SqlError"
import { assert, describe, it } from "@effect/vitest"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Due, DueRow, LaneRef, Queue } from "@posthorn/persistence/engine/Queue"
import { ReplaySteps } from "@posthorn/persistence/engine/ReplaySteps"
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Effect, TestClock } from "effect"
import { makeReplays } from "../src/loops/Replays.ts"
import { tuned } from "../src/Tuning.ts"
import { pollerOf } from "./polling/Polling.ts"

const YEAR_MS = 365 * 86_400_000

const row: DueRow = {
  workspaceId: "wsp_1",
  deliveryId: "whd_1",
  endpointId: "whe_1",
  shard: 0,
  due: databaseMicros(1),
  attempts: 0,
  claims: 0,
  atOnce: false
}

const locks: SleepLocks = { take: (taken) => Effect.succeed({ taken, others: [] }), release: Effect.void }

/** Remembers each sweep. */
const watched = () => {
  const sweeps: Array<LaneRef | null> = []
  const queue: Queue["Type"] = {
    due: () =>
      Effect.sync(
        (): Due => ({ horizon: databaseMicros(1_000_000_000), open: [], rows: [row], stopped: [] })
      ),
    firstOfEndpoints: (after) =>
      Effect.sync(() => {
        sweeps.push(after)
        return { rows: [row], next: null }
      }),
    nextDue: () => Effect.succeed(null),
    dueOfEndpoints: () => Effect.succeed([]),
    payload: () => Effect.dieMessage("payload"),
    load: () => Effect.succeed([]),
    startsSince: () => Effect.succeed([]),
    countClaims: () => Effect.succeed(new Map())
  }
  return { queue, sweeps }
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

/** A poller that listens and polls shard 0; its clock can be set back. */
const reading = Effect.gen(function* () {
  const { queue, sweeps } = watched()
  const { clock, setBack } = yield* settable
  const { dispatcher, poller } = yield* Effect.withClock(pollerOf(queue), clock)
  poller.listening(locks)
  dispatcher.take(0, null)
  yield* Effect.forkScoped(Effect.withClock(poller.run, clock))
  yield* TestClock.adjust(100)
  return { poller, setBack, sweeps }
})

/** A job whose first step fails; gives the number of requested steps. */
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
  it.scoped("§3.4 does not keep the poller from sweeping", () =>
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

describe("a clock that is set back while a replay job waits", () => {
  it.scoped("§3.4 lets it continue after its 5 s", () =>
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

describe("a listener that is connected again", () => {
  it.scoped("§3.4 has the poller sweep at once: it may have missed that an endpoint was enabled", () =>
    Effect.gen(function* () {
      const { poller, sweeps } = yield* reading
      yield* TestClock.adjust(2 * tuned.pollMs)
      sweeps.length = 0
      poller.stoppedListening()

      poller.listening(locks)
      yield* TestClock.adjust(1)

      assert.lengthOf(sweeps, 1)
    })
  )
})
