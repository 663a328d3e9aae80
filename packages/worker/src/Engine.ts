/**
 * The delivery engine: what is due is read into lanes, gets a slot in its turn, is loaded, signed, sent, judged, and
 * written down.
 *
 *   Reader ──► Lanes ──► Slots: load, prepare, send, judge ──► Ledger ──► recorded
 *     ▲                                                          │
 *     └────────── due again (retry), notifications ◄─────────────┘
 *
 * Guarantees: at least once; a post repeats only after a crash, a lost shard or a lost connection to the receiver. On
 * stop nothing more is started, what is in flight is finished and written down (bounded by the deadlines), and the
 * shards are given back. This file puts the parts together; each says in its own file what it promises.
 *
 * Source: spec §3.1 and §6, decision §7, docs/adr/0010-engine.md.
 */
import { Queue } from "@posthorn/persistence/Queue"
import { SecretBox } from "@posthorn/persistence/SecretBox"
import { Effect, FiberSet, Schedule } from "effect"
import { makePrepare } from "./Attempt.ts"
import * as DeadLetters from "./DeadLetters.ts"
import * as Housekeeping from "./Housekeeping.ts"
import { Lanes } from "./Lanes.ts"
import * as Ledger from "./Ledger.ts"
import { type Owner, Ownership } from "./Ownership.ts"
import * as Reader from "./Reader.ts"
import { Receiver } from "./Receiver.ts"
import * as Replays from "./Replays.ts"
import { Slots } from "./Slots.ts"
import { Tuning } from "./Tuning.ts"
import { Wakeups, type Woken } from "./Wakeups.ts"
import { WorkerConfig } from "./WorkerConfig.ts"

/** Beyond the deadlines of the last posts: to write them down. */
const STOP_GRACE_MS = 2_000

const make = Effect.gen(function* () {
  const config = yield* WorkerConfig
  const queue = yield* Queue
  const receiver = yield* Receiver
  const ownership = yield* Ownership
  const prepare = makePrepare(yield* SecretBox, config.allowedTargets)
  const deadLetters = yield* DeadLetters.make
  const fork = yield* FiberSet.makeRuntime<never>()
  const tuning = yield* Tuning
  const slotCount = config.batchSize * config.maxConcurrency
  const lanes = new Lanes({
    endpointConcurrency: config.endpointConcurrency,
    slots: slotCount,
    maxWaiting: tuning.maxWaiting
  })
  const reader: Reader.Reader = yield* Reader.make(lanes, () => slots.wake())
  const ledger: Ledger.Ledger = yield* Ledger.make(JSON.stringify(receiver.fixedHeaders), {
    stored: (entries, { deadLettered, disabled, moment }) => {
      if (disabled.length > 0) slots.drop(({ endpointId }) => disabled.includes(endpointId))
      for (const { observed, row } of entries) {
        lanes.recorded(row)
        if (observed.retryAfterMs !== null) reader.expect(moment + observed.retryAfterMs * 1000)
      }
      if (deadLettered > 0) deadLetters.arrived()
      slots.wake()
    },
    moreComing: () => lanes.inFlight > 0,
    heldUp: (endpointId) => lanes.holdUp(endpointId),
    refused: ({ row }) => slots.unobserved(row, true)
  })
  const slots: Slots = new Slots({
    slots: slotCount,
    retryDelayMs: config.retryDelayMs,
    clock: yield* Effect.clock,
    deadLettered: () => deadLetters.arrived(),
    fork: (effect) => void fork(effect),
    ...{ lanes, ledger, ownership, prepare, queue, reader, receiver, tuning }
  })
  return { config, deadLetters, lanes, ledger, ownership, reader, slots }
})

type Parts = Effect.Effect.Success<typeof make>

const owner = ({ lanes, reader, slots }: Parts): Owner => {
  const drop = (shard: number) => {
    reader.drop(shard)
    slots.drop((row) => row.shard === shard)
    lanes.dropShard(shard)
  }
  return {
    taken: (shard, suspectUntil) => {
      slots.taken(shard, suspectUntil)
      reader.take(shard)
    },
    lost: drop,
    drained: (shard) =>
      Effect.zipRight(
        Effect.sync(() => drop(shard)),
        untilNone(() => lanes.heldOf(shard))
      ),
    idle: (shard) => lanes.heldOf(shard) === 0 && !slots.suspectsIn(shard)
  }
}

const woken = ({ reader }: Parts): Woken => ({
  listening: () => {
    reader.hearing()
  },
  deaf: () => {
    reader.deaf()
  },
  heard: (payload) => {
    const moment = Number(payload)
    if (moment > 0) reader.goBackTo(moment)
    else reader.lookAgain()
  }
})

const untilNone = (held: () => number): Effect.Effect<void> =>
  Effect.suspend(() => (held() === 0 ? Effect.void : Effect.fail("in flight" as const))).pipe(
    Effect.retry(Schedule.spaced("20 millis")),
    Effect.orDie
  )

/** Starts the engine in the scope; closing the scope stops it as described above. */
export const start = Effect.gen(function* () {
  const parts = yield* make
  const { config, deadLetters, lanes, ledger, ownership, reader, slots } = parts
  const wakeups = yield* Wakeups
  const housekeeping = yield* Housekeeping.make
  const replays = yield* Replays.make
  yield* Effect.forkScoped(ownership.keep(owner(parts)))
  yield* Effect.forkScoped(ledger.write)
  yield* Effect.forkScoped(deadLetters.run)
  // One worker is enough: the one that has the first shard.
  yield* Effect.forkScoped(housekeeping.run(() => reader.has(0)))
  // Finalizers run in reverse: what stands below stops first, what stands above is still there for the last posts.
  yield* Effect.addFinalizer(() =>
    // Interruptible inside, not around: the fiber that stops us is usually interrupted already (SIGTERM).
    untilNone(() => lanes.inFlight + ledger.kept).pipe(
      Effect.interruptible,
      Effect.timeoutOption(config.requestTimeoutMs + config.bodyTimeoutMs + STOP_GRACE_MS)
    )
  )
  yield* Effect.forkScoped(wakeups.listen(woken(parts)))
  yield* Effect.forkScoped(replays.run(() => reader.shards))
  yield* Effect.forkScoped(reader.run)
  yield* Effect.forkScoped(slots.run)
})
