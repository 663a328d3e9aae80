/** A worker of a world: the real engine, with every service through which it reaches the world. */
import type { SqlError } from "@effect/sql/SqlError"
import type { Observation } from "@posthorn/domain/Verdict"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { Queue } from "@posthorn/persistence/engine/Queue"
import { type Observed, Records } from "@posthorn/persistence/engine/Records"
import { ReplaySteps } from "@posthorn/persistence/engine/ReplaySteps"
import { HourlyRollups } from "@posthorn/persistence/operations/HourlyRollups"
import { Retention } from "@posthorn/persistence/operations/Retention"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { type Context, Effect, Layer } from "effect"
import { type Outgoing, Sender } from "../../src/attempt/Sender.ts"
import { Alerting } from "../../src/loops/Alerts.ts"
import { Judging } from "../../src/loops/Judging.ts"
import { Ownership } from "../../src/ownership/Ownership.ts"
import { Listener } from "../../src/polling/Listener.ts"
import * as Schedules from "../../src/Schedules.ts"
import { Tuning } from "../../src/Tuning.ts"
import { defaults, WorkerConfig } from "../../src/WorkerConfig.ts"
import { HANG_MS } from "./Answers.ts"
import type { FaultPlan } from "./FaultPlan.ts"
import type { Model } from "./Model.ts"
import type { Shares, Worker } from "./Shares.ts"
import { lockNotAvailable } from "./Slowness.ts"

export interface Surroundings {
  readonly model: Model
  readonly shares: Shares
  readonly box: SecretBox.SecretBox["Type"]
  readonly plan: FaultPlan
  /** The world's time of an attempt, whatever the worker's clock shows. */
  readonly trueTime: (observed: Observed) => number
  readonly lockedRows: ReadonlySet<string>
  /** Adds delays and faults to what happens at one instant; `asked`: of how many rows or endpoints. */
  readonly statement: <A>(name: string, apply: () => A, asked?: number) => Effect.Effect<A, SqlError>
  readonly receive: (request: Outgoing, done: (seen: Observation | null) => void) => void
}

export const services = (
  worker: Worker,
  { box, lockedRows, plan, model, receive, shares, statement, trueTime }: Surroundings
) => {
  const queue: Context.Tag.Service<Queue> = {
    due: (marks, skip, perShard, scanLimit) =>
      statement("due", () => model.due(marks, skip, perShard, scanLimit)),
    firstOfEndpoints: (after, most) =>
      statement("firstOfEndpoints", () => model.firstOfEndpoints(after, most), most),
    nextDue: (shards) => statement("nextDue", () => model.nextDue(shards)),
    dueOfEndpoints: (lanes) => statement("dueOfEndpoints", () => model.dueOfEndpoints(lanes), lanes.length),
    load: (rows) => statement("load", () => model.load(rows), rows.length),
    // The model's payloads are small.
    payload: () => Effect.dieMessage("payload"),
    startsSince: (rated) => statement("startsSince", () => model.startsSince(rated)),
    countClaims: (claims, limit, sending) =>
      statement("countClaims", () => model.countClaims(claims, limit, sending))
  }
  return Layer.mergeAll(
    Layer.succeed(Queue, queue),
    Layer.succeed(Records, {
      record: (observed) =>
        Effect.flatten(
          statement("record", () =>
            observed.some(({ endpointId }) => lockedRows.has(endpointId))
              ? lockNotAvailable
              : Effect.succeed(model.record(observed.map((one) => ({ ...one, at: trueTime(one) }))))
          )
        ),
      // The model refuses nothing.
      recordEach: () => Effect.dieMessage("recordEach"),
      policies: (endpoints) => statement("policies", () => model.policies(endpoints)),
      blocked: () => statement("blocked", () => new Set(lockedRows)),
      deadLetter: (batch) => statement("deadLetter", () => model.deadLetter(batch))
    }),
    Layer.succeed(HourlyRollups, { count: Effect.succeed(0) }),
    Layer.succeed(Alerting, {
      fold: Effect.void,
      send: Effect.void,
      settled: Effect.void,
      run: () => Effect.never
    }),
    Layer.succeed(Judging, { round: Effect.void, run: () => Effect.never }),
    Layer.succeed(Retention, {
      daily: Effect.succeed(null),
      erase: Effect.succeed(0),
      forget: Effect.succeed(0),
      removeDeleted: Effect.succeed(0),
      run: Effect.never
    }),
    // Jobs are made in SQL alone, by whoever holds their row: tested on PostgreSQL, in Replays.test.ts.
    Layer.succeed(ReplaySteps, { running: () => Effect.succeed([]), step: () => Effect.never }),
    DatabaseClock.Default,
    Layer.succeed(SecretBox.SecretBox, box),
    Layer.effect(
      Ownership,
      Effect.map(DatabaseClock, (databaseClock) => {
        // Where nobody measures, it keeps its worker's wall clock.
        const measure = Effect.flatMap(elapsedNow, (asked) =>
          Effect.flatMap(
            statement("membership", () => model.now()),
            (answer) => databaseClock.measured(asked, answer)
          )
        )
        return {
          name: String(worker.id),
          holdsLease: () => worker.alive && (worker.certain || worker.deluded),
          keep: (owner) =>
            Effect.suspend(() => {
              worker.owner = owner
              shares.balance()
              const measuring = Effect.orDie(Effect.repeat(measure, Schedules.heartbeat))
              return plan.measures ? Effect.zipRight(measuring, Effect.never) : Effect.never
            })
        }
      })
    ).pipe(Layer.provide(DatabaseClock.Default)),
    Layer.succeed(Listener, {
      listen: (hearer) =>
        Effect.suspend(() => {
          worker.hearer = hearer
          worker.locks = {
            take: (shards) =>
              statement("sleep", () =>
                worker.hears ? model.sleep(worker, shards) : { taken: [], others: [] }
              ),
            release: statement("wakeUp", () => model.wakeUp(worker))
          }
          if (worker.hears) hearer.listening(worker.locks)
          return Effect.never
        })
    }),
    Layer.succeed(Sender, {
      requestToken: () => () => undefined,
      fixedHeaders: { "content-type": "application/json" },
      send: (request) => Effect.async((resume) => receive(request, (seen) => resume(Effect.succeed(seen))))
    }),
    Layer.succeed(WorkerConfig, {
      ...defaults,
      batchSize: plan.slots,
      maxConcurrency: 1,
      endpointConcurrency: plan.endpointConcurrency,
      retryDelayMs: plan.retryDelayMs,
      requestTimeoutMs: HANG_MS,
      bodyTimeoutMs: 100
    }),
    Layer.succeed(Tuning, plan.tuning)
  )
}
