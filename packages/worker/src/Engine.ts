/**
 * The delivery engine: what is due is read into lanes, gets a slot in its turn, is loaded, signed, sent, judged, and
 * written down.
 *
 *   Reader ──► waiting ──► Loader ──► ready ──► Pool ──► settled ──► Ledger ──► recorded
 *     ▲        └──────────────── all of them in the hub, Lanes.ts ─────┘          │
 *     └────────────── due again (retry), notifications, the sweep ◄──────────────┘
 *
 * Guarantees: at least once; a post repeats only after a crash, a lost shard or a lost connection to the receiver. On
 * stop nothing more is started, what is in flight is finished and written down (bounded by the deadlines), and the
 * shards are given back. This file puts the parts together; each says in its own file what it promises.
 *
 * Source: spec §3.1 and §6, decision §7, docs/adr/0010-engine.md.
 */
import { Queue } from "@posthorn/persistence/Queue"
import { Records } from "@posthorn/persistence/Records"
import { SecretBox } from "@posthorn/persistence/SecretBox"
import { Cause, Deferred, Effect, Fiber, FiberSet } from "effect"
import { makePrepare } from "./Attempt.ts"
import { makeDeadLetters } from "./DeadLetters.ts"
import * as Housekeeping from "./Housekeeping.ts"
import { attemptSpans } from "./internal/AttemptSpans.ts"
import { Lanes } from "./Lanes.ts"
import { Ledger } from "./Ledger.ts"
import { makeLoader } from "./Loader.ts"
import * as Meters from "./Meters.ts"
import { type Owner, Ownership } from "./Ownership.ts"
import type { Parts } from "./Parts.ts"
import { makePool } from "./Pool.ts"
import { Reader } from "./Reader.ts"
import { Receiver } from "./Receiver.ts"
import { makeReplays, type Replays } from "./Replays.ts"
import * as Schedules from "./Schedules.ts"
import { makeTakeUps } from "./TakeUps.ts"
import { Tuning } from "./Tuning.ts"
import { Wakeups, type Woken } from "./Wakeups.ts"
import { WorkerConfig } from "./WorkerConfig.ts"

/** Beyond the deadlines of the last posts: to write them down. */
const STOP_GRACE_MS = 2_000

const owner = (lanes: Lanes, replays: Replays): Owner => ({
  taken: (shard, suspectUntil) => {
    lanes.take(shard, suspectUntil)
    replays.lookAgain()
  },
  cleared: (shard) => lanes.suspects.taken(shard, null),
  lost: (shard) => lanes.lose(shard),
  drained: (shard) =>
    Effect.zipRight(
      Effect.sync(() => lanes.lose(shard)),
      untilNone(() => lanes.heldOf(shard))
    ),
  idle: (shard) => lanes.heldOf(shard) === 0 && !lanes.suspects.suspectsIn(shard)
})

const woken = (reader: Reader, replays: Replays): Woken => ({
  listening: (locks) => reader.hearing(locks),
  deaf: () => reader.deaf(),
  heard: (since, shards) => {
    if (since !== null) return reader.woken(since, shards)
    reader.lookAgain()
    replays.lookAgain()
  }
})

const untilNone = (held: () => number): Effect.Effect<void> =>
  Effect.suspend(() => (held() === 0 ? Effect.void : Effect.fail("in flight" as const))).pipe(
    Effect.retry(Schedules.drained),
    Effect.orDie
  )

const make = Effect.gen(function* () {
  const config = yield* WorkerConfig
  const { endpointConcurrency, retryDelayMs } = config
  const slots = config.batchSize * config.maxConcurrency
  const tuning = yield* Tuning
  const timers = yield* FiberSet.makeRuntime<never>()
  const later = (milliseconds: number, run: () => void) =>
    void timers(Effect.delay(Effect.sync(run), milliseconds))
  const lanes = new Lanes({ ...tuning, endpointConcurrency, slots, retryDelayMs, later })
  yield* Meters.sizes(() => ({
    slots,
    inFlight: lanes.inFlight,
    unrecorded: lanes.settled.all,
    waiting: lanes.waiting,
    lanes: lanes.count,
    shards: lanes.shards.length
  }))
  const parts: Parts = {
    ...{ lanes, slots, retryDelayMs, tuning },
    queue: yield* Queue,
    records: yield* Records,
    receiver: yield* Receiver,
    ownership: yield* Ownership,
    prepare: makePrepare(yield* SecretBox, config.allowedTargets),
    trace: yield* attemptSpans,
    clock: yield* Effect.clock
  }
  return parts
})

/**
 * Starts the engine in the scope; closing the scope stops it as described above. What it gives ends only when a loop broke by a
 * defect: then this worker delivers no longer as it should, and whoever runs it has to end it.
 */
export const start = Effect.gen(function* () {
  const { bodyTimeoutMs, requestTimeoutMs } = yield* WorkerConfig
  const parts = yield* make
  const { lanes } = parts
  const reader = new Reader(parts)
  const wakeups = yield* Wakeups
  const housekeeping = yield* Housekeeping.make
  const replays = yield* makeReplays
  const broken = yield* Deferred.make<never>()
  const watched = (loop: Effect.Effect<unknown>) =>
    Effect.onError(loop, (cause) =>
      Cause.isInterruptedOnly(cause) ? Effect.void : Deferred.failCause(broken, cause)
    )
  const fork = (loop: Effect.Effect<unknown>) => Effect.forkScoped(watched(loop))
  yield* fork(parts.ownership.keep(owner(lanes, replays)))
  yield* fork(new Ledger(parts).run)
  yield* fork(makeTakeUps(parts))
  yield* fork(makeDeadLetters(parts))
  // One worker is enough: the one that has the first shard.
  yield* fork(housekeeping.run(() => lanes.owns(0)))
  // Finalizers run in reverse: what stands below stops first, what stands above is still there for the last posts.
  yield* Effect.addFinalizer(() =>
    // Interruptible inside, not around: the fiber that stops us is usually interrupted already (SIGTERM).
    untilNone(() => lanes.inFlight + lanes.settled.all).pipe(
      Effect.interruptible,
      Effect.timeoutOption(requestTimeoutMs + bodyTimeoutMs + STOP_GRACE_MS)
    )
  )
  const pool = yield* Effect.forkDaemon(watched(makePool(parts)))
  yield* Effect.addFinalizer(() => Fiber.interruptFork(pool))
  yield* fork(wakeups.listen(woken(reader, replays)))
  yield* fork(replays.run(() => lanes.shards))
  yield* fork(reader.run)
  // What is ready when nothing more is loaded is not sent any more.
  yield* Effect.addFinalizer(() => Effect.sync(() => lanes.giveBackReady(() => true)))
  yield* fork(makeLoader(parts))
  return Deferred.await(broken)
})
