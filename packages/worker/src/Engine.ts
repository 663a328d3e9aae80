/**
 * The delivery engine: what is due is read into lanes, gets a slot in its turn, is loaded, signed, sent, judged, and
 * written down.
 *
 *   Reader ──► Lanes ──pick──► load ──► slot: prepare, send, judge ──► Ledger ──► recorded
 *     ▲                                                                  │
 *     └────────────── due again (retry), notifications ◄────────────────┘
 *
 * Slots are independent: no batch waits for its slowest post. Loading takes what is free in one statement, so groups
 * grow with the load. Guarantees: at least once; a post repeats only after a crash, a lost shard or a lost connection to
 * the receiver; nothing is started without certain ownership of its shard. On stop nothing more is started, what is in
 * flight is finished and written down (bounded by the deadlines), and the shards are given back.
 *
 * Source: spec §3.1 and §6, decision §7, docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { newId } from "@posthorn/domain/Ids"
import { judge, MAX_TAKE_UPS, type Observation, type Verdict } from "@posthorn/domain/Verdict"
import { type Loaded, Queue, type Waiting } from "@posthorn/persistence/Queue"
import type { Observed } from "@posthorn/persistence/Records"
import type { Retention } from "@posthorn/persistence/Retention"
import { SecretBox, SecretUnreadable } from "@posthorn/persistence/SecretBox"
import { Clock, Effect, FiberSet, Schedule, type Scope } from "effect"
import { makePrepare } from "./Attempt.ts"
import * as DeadLetters from "./DeadLetters.ts"
import * as Housekeeping from "./Housekeeping.ts"
import type { Pace } from "./internal/Lane.ts"
import { Signal } from "./internal/Signal.ts"
import { Lanes } from "./Lanes.ts"
import * as Ledger from "./Ledger.ts"
import { Ownership } from "./Ownership.ts"
import * as Reader from "./Reader.ts"
import { Receiver } from "./Receiver.ts"
import { Wakeups } from "./Wakeups.ts"
import { WorkerConfig } from "./WorkerConfig.ts"

const UNCERTAIN_PAUSE_MS = 200
const LOAD_PAUSE_MS = 500
const DEFECT_PAUSE = "1 second"

/** Starts the engine in the scope; closing the scope stops it as described above. */
export const start: Effect.Effect<
  void,
  never,
  Queue | Ledger.Records | Retention | SecretBox | Ownership | Wakeups | Receiver | WorkerConfig | Scope.Scope
> = Effect.gen(function* () {
  const config = yield* WorkerConfig
  const queue = yield* Queue
  const receiver = yield* Receiver
  const ownership = yield* Ownership
  const wakeups = yield* Wakeups
  const prepare = makePrepare(yield* SecretBox, config.allowedTargets)
  const slots = config.batchSize * config.maxConcurrency
  const fixedEvidence = `${JSON.stringify(receiver.fixedHeaders).slice(0, -1)},`

  const lanes = new Lanes({ endpointConcurrency: config.endpointConcurrency })
  const ready = new Signal()
  const suspectUntil = new Map<number, number>()
  const reader = yield* Reader.make(lanes, () => ready.raise())
  const deadLetters = yield* DeadLetters.make
  const housekeeping = yield* Housekeeping.make
  const ledger = yield* Ledger.make({
    stored: (entries, { deadLettered, moment }) => {
      for (const { observed, row } of entries) {
        lanes.recorded(row)
        if (observed.retry_after_ms !== null) reader.expect(moment + observed.retry_after_ms * 1000)
      }
      if (deadLettered > 0) deadLetters.arrived()
      ready.raise()
    },
    refused: ({ row }) => unobserved(row)
  })
  const run = yield* FiberSet.makeRuntime<never>()

  /** Ended without an observation: counted, so that a delivery that breaks the worker stops some day. */
  const unobserved = (row: Waiting) =>
    run(
      queue.takeUp([row], 0, MAX_TAKE_UPS).pipe(
        Effect.retry(Schedule.spaced(DEFECT_PAUSE)),
        Effect.delay(DEFECT_PAUSE),
        Effect.map(() => {
          lanes.recorded(row)
          reader.goBackTo(row.due)
        }),
        Effect.orDie
      )
    )

  const observe = (row: Waiting, { generation }: Loaded, at: number, headers: string, seen: Observation) => {
    const ordinal = row.attempts + 1
    const verdict = judge(ordinal, seen)
    const observed = observedOf(row, generation, ordinal, verdict, seen, at, headers, config.retryDelayMs)
    ledger.add({ row, observed })
    lanes.settle(row, paceOf(seen), verdict.status === "delivered")
    ready.raise()
  }

  const attempt = (row: Waiting, loaded: Loaded, at: number) => {
    try {
      const prepared = prepare(row.endpointId, loaded, Math.floor(at / 1000))
      if (prepared === "invalid_url") {
        observe(row, loaded, at, "{}", INVALID_URL)
        return
      }
      const evidence = fixedEvidence + prepared.evidence
      receiver.send(prepared, (seen) => {
        // Null: the receiver closed, as the engine's last act. The delivery stays in the queue.
        if (seen !== null) observe(row, loaded, at, evidence, seen)
      })
    } catch (defect) {
      broken(row, defect)
    }
  }

  const broken = (row: Waiting, defect: unknown) => {
    lanes.settle(row, "same", false)
    if (defect instanceof SecretUnreadable) {
      // Not the delivery's fault: nothing is sent to this endpoint until the key is there again.
      lanes.park(row.endpointId)
      lanes.recorded(row)
    } else unobserved(row)
    run(Effect.logError(`Delivery ${row.deliveryId} could not be attempted`, defect))
  }

  const gone = (row: Waiting) => {
    lanes.settle(row, "same", true)
    lanes.recorded(row)
  }

  /** Not sent after all. What is of a shard that was lost meanwhile is its next owner's. */
  const giveBack = (rows: ReadonlyArray<Waiting>) => {
    for (const row of rows.toReversed()) reader.has(row.shard) ? lanes.giveBack(row) : gone(row)
  }

  const launch = (rows: ReadonlyArray<Waiting>, found: ReadonlyArray<Loaded>, at: number) => {
    const loadedOf = new Map(found.map((loaded) => [loaded.deliveryId, loaded]))
    for (const row of rows) {
      const loaded = loadedOf.get(row.deliveryId)
      if (loaded === undefined || !reader.has(row.shard)) gone(row)
      else if (loaded.enabled) attempt(row, loaded, at)
      else {
        lanes.park(row.endpointId)
        gone(row)
      }
    }
  }

  const isSuspect = (row: Waiting) =>
    row.takeUps >= MAX_TAKE_UPS || row.due <= (suspectUntil.get(row.shard) ?? Number.NEGATIVE_INFINITY)

  /** Deliveries that a dead worker may have held are counted before they are sent; poison goes to the dead letters. */
  const countSuspects = (rows: ReadonlyArray<Waiting>): Effect.Effect<ReadonlyArray<Waiting>, SqlError> => {
    const suspects = rows.filter(isSuspect)
    if (suspects.length === 0) return Effect.succeed(rows)
    return Effect.map(queue.takeUp(suspects, 1, MAX_TAKE_UPS), (counts) => {
      const dropped = suspects.filter((row) => !counts.has(row.deliveryId))
      for (const row of dropped) gone(row)
      if (dropped.length > 0) deadLetters.arrived()
      return rows.filter((row) => !dropped.includes(row))
    })
  }

  const free = () => Math.min(slots - lanes.inFlight, Ledger.MOST_UNRECORDED - ledger.unrecorded)

  const takeTurn = Effect.suspend(() => {
    if (!ownership.certain()) return Effect.sleep(UNCERTAIN_PAUSE_MS)
    const wasFull = lanes.room === 0
    const picked = free() > 0 ? lanes.pick(free()) : []
    if (picked.length === 0) return ready.wait
    if (wasFull || lanes.hasThin) reader.resume()
    return countSuspects(picked).pipe(
      Effect.flatMap((rows) => (rows.length === 0 ? Effect.void : load(rows))),
      Effect.as(0),
      Effect.catchAll((error) => {
        giveBack(picked.filter((row) => lanes.holds(row.deliveryId)))
        return Effect.as(Effect.logWarning("Deliveries cannot be loaded", error), LOAD_PAUSE_MS)
      }),
      // What was picked is either launched or given back, also when the engine stops just now.
      Effect.uninterruptible,
      Effect.flatMap((pause) => (pause === 0 ? Effect.void : Effect.sleep(pause)))
    )
  })

  const load = (rows: ReadonlyArray<Waiting>) =>
    Effect.zipWith(queue.load(rows), Clock.currentTimeMillis, (found, at) =>
      ownership.certain() ? launch(rows, found, at) : giveBack(rows)
    )

  const drained = (held: () => number) =>
    Effect.suspend(() => (held() === 0 ? Effect.void : Effect.fail("in flight" as const))).pipe(
      Effect.retry(Schedule.spaced("20 millis")),
      Effect.orDie
    )

  const graceMs = config.requestTimeoutMs + config.bodyTimeoutMs + 2_000

  yield* Effect.forkScoped(
    ownership.keep({
      taken: (shard, suspect) => {
        if (suspect === null) suspectUntil.delete(shard)
        else suspectUntil.set(shard, suspect)
        reader.take(shard)
      },
      lost: (shard) => {
        reader.drop(shard)
        lanes.dropShard(shard)
      },
      drained: (shard) =>
        Effect.suspend(() => {
          reader.drop(shard)
          lanes.dropShard(shard)
          return drained(() => lanes.heldOf(shard))
        }),
      idle: (shard) => lanes.heldOf(shard) === 0
    })
  )
  yield* Effect.forkScoped(ledger.write)
  yield* Effect.forkScoped(deadLetters.run)
  // One worker is enough: the one that has the first shard.
  yield* Effect.forkScoped(housekeeping.run(() => reader.has(0)))
  yield* Effect.addFinalizer(() =>
    // Interruptible inside, not around: the fiber that stops us is usually interrupted already (SIGTERM).
    drained(() => lanes.inFlight + ledger.unrecorded).pipe(
      Effect.interruptible,
      Effect.timeoutOption(graceMs)
    )
  )
  yield* Effect.forkScoped(
    wakeups.listen({
      listening: () => {
        reader.listening = true
        reader.goBackTo(0)
      },
      deaf: () => {
        reader.listening = false
      },
      heard: (payload) => {
        const moment = Number(payload)
        if (moment > 0) reader.goBackTo(moment)
        else reader.lookAgain()
      }
    })
  )
  yield* Effect.forkScoped(reader.run)
  yield* Effect.forkScoped(Effect.forever(takeTurn))
})

const INVALID_URL: Observation = {
  httpStatus: null,
  failureReason: "invalid_url",
  durationMs: 0,
  responseBody: null
}

const paceOf = (seen: Observation): Pace =>
  seen.httpStatus !== null ? "faster" : seen.failureReason === "request_timeout" ? "slower" : "same"

const observedOf = (
  row: Waiting,
  generation: number,
  ordinal: number,
  verdict: Verdict,
  seen: Observation,
  at: number,
  requestHeaders: string,
  retryDelayMs: number
): Observed => ({
  workspace_id: row.workspaceId,
  delivery_id: row.deliveryId,
  endpoint_id: row.endpointId,
  generation,
  ordinal,
  attempt_id: newId("attempt"),
  status: verdict.status,
  at: new Date(at).toISOString(),
  duration_ms: seen.durationMs,
  http_status: seen.httpStatus,
  failure_reason: verdict.failureReason,
  request_headers: requestHeaders,
  response_body: seen.responseBody,
  retry_after_ms: verdict.retryAfterUnits === null ? null : verdict.retryAfterUnits * retryDelayMs,
  exhausted: verdict.exhausted
})
