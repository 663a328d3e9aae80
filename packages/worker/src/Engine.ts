/**
 * The delivery engine: polls due deliveries into lanes, loads them in turn, signs, sends, judges and records them.
 *
 *   Poller ──► waiting ──► Loader ──► loaded ──► Slots ──► settled ──► Recorder ──► recorded
 *     ▲        └──────── the dispatcher, dispatcher/Dispatcher.ts ───────┘             │
 *     └─────────────── due again (retry), notifications, the sweep ◄──────────────────┘
 *
 * Guarantees: at least once. A request repeats only after a crash, a lost shard or a lost connection, when its token was refused,
 * and when a worker that stops, or hands its shard over, gives up a long request. A worker that stops starts nothing more. Requests
 * in flight get the default deadlines, and two seconds to be recorded; then the shards are released.
 *
 * Source: spec §3.1, §6 and §3.4, docs/adr/0010-engine.md.
 */

import { Tokens } from "@posthorn/egress/Tokens"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { Queue } from "@posthorn/persistence/engine/Queue"
import { Records } from "@posthorn/persistence/engine/Records"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Cause, Deferred, Effect, Fiber, FiberSet } from "effect"
import { attemptSpans } from "./attempt/AttemptSpans.ts"
import { makeResolve } from "./attempt/Policies.ts"
import { makePrepare } from "./attempt/PrepareRequest.ts"
import { Sender } from "./attempt/Sender.ts"
import { UnreadableEndpoints } from "./attempt/UnreadableEndpoints.ts"
import { Dispatcher } from "./dispatcher/Dispatcher.ts"
import * as Meters from "./EngineMeters.ts"
import { Alerting } from "./loops/Alerts.ts"
import { makeDeadLetters } from "./loops/DeadLetters.ts"
import * as Housekeeping from "./loops/Housekeeping.ts"
import { Judging } from "./loops/Judging.ts"
import { makeLoader } from "./loops/Loader.ts"
import { makePayloadReader } from "./loops/PayloadReader.ts"
import { Recorder } from "./loops/Recorder.ts"
import { makeReplays, type Replays } from "./loops/Replays.ts"
import { makeSlots } from "./loops/Slots.ts"
import { makeUnobservedClaims } from "./loops/UnobservedClaims.ts"
import { HandOver } from "./ownership/HandOver.ts"
import { type Owner, Ownership } from "./ownership/Ownership.ts"
import type { Parts } from "./Parts.ts"
import { type Hearer, Listener } from "./polling/Listener.ts"
import { Poller } from "./polling/Poller.ts"
import { PollInbox } from "./polling/PollInbox.ts"
import * as Schedules from "./Schedules.ts"
import { Tuning } from "./Tuning.ts"
import { WorkerConfig } from "./WorkerConfig.ts"

const STOP_GRACE_MS = 2_000

const owner = (dispatcher: Dispatcher, handOver: HandOver, replays: Replays): Owner => ({
  taken: (shard, inDoubtUntil) => {
    dispatcher.take(shard, inDoubtUntil)
    replays.lookAgain()
  },
  cleared: (shard) => dispatcher.inDoubt.taken(shard, null),
  lost: (shard) => {
    handOver.lost(shard)
    dispatcher.lose(shard)
  },
  handOver: handOver.run,
  idle: (shard) => dispatcher.ids.of(shard) === 0 && !dispatcher.inDoubt.doubtsIn(shard)
})

const hearer = ({ inbox, dispatcher }: Parts, poller: Poller, replays: Replays): Hearer => ({
  listening: (locks) => {
    poller.listening(locks)
    dispatcher.rateLimits.policiesChanged(null)
  },
  stoppedListening: () => poller.stoppedListening(),
  heard: (since, shards) => {
    if (since === null) {
      inbox.tell({ kind: "anywhere" })
      replays.lookAgain()
    } else if (shards.some((shard) => dispatcher.leases.owns(shard)))
      inbox.tell({ kind: "from", moment: since })
  },
  published: (row) => {
    if (dispatcher.leases.owns(row.shard)) inbox.tell({ kind: "delivery", row })
  },
  endpointChanged: (endpointId, failures, shard) => dispatcher.endpointChanged(endpointId, failures, shard),
  endpointUsable: (endpoint) => {
    inbox.tell({ kind: "usable", endpoint })
    replays.lookAgain()
  },
  policyChanged: (workspaceId) => dispatcher.rateLimits.policiesChanged(workspaceId)
})

const untilNone = (left: () => number): Effect.Effect<void> =>
  Effect.suspend(() => (left() === 0 ? Effect.void : Effect.fail("in flight" as const))).pipe(
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
  const inbox = new PollInbox()
  const clock = yield* Effect.clock
  const wakeAt = (moment: number, run: (now: number) => void) =>
    later(Math.max(0, Math.ceil(moment - elapsed(clock))), () => run(elapsed(clock)))
  const dispatcher = new Dispatcher({
    ...tuning,
    endpointConcurrency,
    slots,
    retryDelayMs,
    later,
    wakeAt,
    pollFrom: (moment) => inbox.tell({ kind: "from", moment }),
    pollOn: () => inbox.tell({ kind: "goOn" })
  })
  const unreadable = new UnreadableEndpoints(clock)
  yield* Meters.sizes(() => ({ slots, unreadable: unreadable.count, ...dispatcher.sizes }))
  const resolve = makeResolve(config)
  const sender = yield* Sender
  const parts: Parts = {
    ...{ dispatcher, inbox, later, slots, tuning },
    queue: yield* Queue,
    records: yield* Records,
    sender,
    ownership: yield* Ownership,
    resolve,
    unreadable,
    tokens: new Tokens({
      request: sender.requestToken,
      now: () => elapsed(clock),
      settled: (endpointId) => dispatcher.credentialsKnown(endpointId)
    }),
    prepare: makePrepare(yield* SecretBox, config.allowedTargets, resolve, sender.fixedHeaders),
    trace: yield* attemptSpans,
    clock,
    databaseClock: yield* DatabaseClock
  }
  return parts
})

/**
 * Starts the engine in the scope, which stops it as above. The effect that it returns ends only when a defect has broken a
 * loop: then its caller must end the worker.
 */
export const start = Effect.gen(function* () {
  const { bodyTimeoutMs, requestTimeoutMs } = yield* WorkerConfig
  const parts = yield* make
  const { dispatcher } = parts
  const poller = new Poller(parts)
  const listener = yield* Listener
  const housekeeping = yield* Housekeeping.make
  const judging = yield* Judging
  const alerting = yield* Alerting
  const replays = yield* makeReplays
  const slots = makeSlots(parts)
  const shards = () => dispatcher.leases.all.map(({ shard }) => shard)
  const broken = yield* Deferred.make<never>()
  const watched = (loop: Effect.Effect<unknown>) =>
    Effect.onError(loop, (cause) =>
      Cause.isInterruptedOnly(cause) ? Effect.void : Deferred.failCause(broken, cause)
    )
  const fork = (loop: Effect.Effect<unknown>) => Effect.forkScoped(watched(loop))
  const giveUpMs = requestTimeoutMs + bodyTimeoutMs + STOP_GRACE_MS
  const handOver = new HandOver(parts, giveUpMs)
  yield* fork(parts.ownership.keep(owner(dispatcher, handOver, replays)))
  yield* fork(new Recorder(parts).run)
  yield* fork(makeUnobservedClaims(parts))
  yield* fork(makeDeadLetters(parts))
  // One worker is enough: the one that holds the first shard.
  yield* fork(housekeeping.run(() => dispatcher.leases.owns(0)))
  yield* fork(judging.run(() => dispatcher.leases.owns(0)))
  yield* fork(alerting.run(() => dispatcher.leases.owns(0)))
  // Finalizers run in reverse: the loops forked above still serve the last requests.
  const sending = yield* Effect.forkDaemon(watched(slots.run))
  // Does not wait for slots that are still in the middle of a request.
  yield* Effect.addFinalizer(() => Fiber.interruptFork(sending))
  yield* Effect.addFinalizer(() =>
    // Only the inside is interruptible: the fiber that stops this worker is usually interrupted already (SIGTERM).
    untilNone(() => dispatcher.inFlight + dispatcher.unrecorded.all).pipe(
      Effect.interruptible,
      Effect.timeoutOption(giveUpMs)
    )
  )
  yield* fork(listener.listen(hearer(parts, poller, replays), parts.ownership.name))
  yield* fork(replays.run(shards))
  yield* fork(poller.run)
  yield* Effect.addFinalizer(() => Effect.sync(() => dispatcher.requeueReady(() => true)))
  yield* fork(makePayloadReader(parts))
  yield* fork(makeLoader(parts, slots.fill))
  return Deferred.await(broken)
})
