/** A worker of a world: the real engine, with every service it reaches the world through. */
import type { SqlError } from "@effect/sql/SqlError"
import type { Observation } from "@posthorn/domain/Verdict"
import { HourCounts } from "@posthorn/persistence/HourCounts"
import { Queue } from "@posthorn/persistence/Queue"
import { type Observed, Records } from "@posthorn/persistence/Records"
import { ReplaySteps } from "@posthorn/persistence/ReplaySteps"
import { Retention } from "@posthorn/persistence/Retention"
import * as SecretBox from "@posthorn/persistence/SecretBox"
import { type Context, Effect, Layer } from "effect"
import { Ownership } from "../../src/Ownership.ts"
import { type Outgoing, Receiver } from "../../src/Receiver.ts"
import { Tuning } from "../../src/Tuning.ts"
import { Wakeups } from "../../src/Wakeups.ts"
import { defaults, WorkerConfig } from "../../src/WorkerConfig.ts"
import { lookingOut } from "../Reading.ts"
import { HANG_MS } from "./Answers.ts"
import type { Climate } from "./Climate.ts"
import type { Model } from "./Model.ts"
import type { Shares, Worker } from "./Shares.ts"

export interface Surroundings {
  readonly model: Model
  readonly shares: Shares
  readonly box: SecretBox.SecretBox["Type"]
  readonly climate: Climate
  /** The world's time of an attempt, whatever the worker's clock shows. */
  readonly trueTime: (observed: Observed) => number
  /** Puts delays and faults around what happens at one instant. */
  readonly statement: <A>(name: string, apply: () => A) => Effect.Effect<A, SqlError>
  readonly receive: (request: Outgoing, done: (seen: Observation | null) => void) => void
}

export const services = (
  worker: Worker,
  { box, climate, model, receive, shares, statement, trueTime }: Surroundings
) => {
  const queue: Context.Tag.Service<Queue> = {
    due: (marks, skip, perShard, lookMost, lookout) =>
      Effect.zipRight(
        lookingOut(lookout, (known) => model.hasNew(marks, known)),
        statement("due", () => {
          const isBare = lookout !== null && !lookout.whole && model.hasNew(marks, lookout.known)
          const due = model.due(marks, skip, perShard, lookMost, lookout?.loadMost ?? 0)
          return isBare ? { ...due, open: null } : due
        })
      ),
    heads: (after, most) => statement("heads", () => model.heads(after, most)),
    nextDue: (shards) => statement("nextDue", () => model.nextDue(shards)),
    dueOf: (lanes) => statement("dueOf", () => model.dueOf(lanes)),
    load: (rows) => statement("load", () => model.load(rows)),
    takeUp: (takeUps, limit, sending) => statement("takeUp", () => model.takeUp(takeUps, limit, sending)),
    disabledAmong: (lanes) => statement("disabledAmong", () => model.disabledAmong(lanes))
  }
  return Layer.mergeAll(
    Layer.succeed(Queue, queue),
    Layer.succeed(Records, {
      record: (observed, _, limit) =>
        statement("record", () =>
          model.record(
            observed.map((one) => ({ ...one, at: trueTime(one) })),
            limit
          )
        ),
      held: () => statement("held", () => new Set<string>()),
      bury: (batch) => statement("bury", () => model.bury(batch))
    }),
    Layer.succeed(HourCounts, { count: Effect.succeed(0) }),
    Layer.succeed(Retention, { daily: Effect.succeed(null), erase: Effect.succeed(0), run: Effect.never }),
    // Jobs are made in SQL alone, by whoever holds their row: tested on PostgreSQL, in Replays.test.ts.
    Layer.succeed(ReplaySteps, { running: () => Effect.succeed([]), step: () => Effect.never }),
    Layer.succeed(SecretBox.SecretBox, box),
    Layer.succeed(Ownership, {
      certain: () => worker.alive && (worker.certain || worker.deluded),
      keep: (owner) =>
        Effect.suspend(() => {
          worker.owner = owner
          shares.balance()
          return Effect.never
        })
    }),
    Layer.succeed(Wakeups, {
      listen: (woken) =>
        Effect.suspend(() => {
          worker.woken = woken
          worker.locks = {
            take: (shards) => statement("sleep", () => (worker.hears ? model.sleep(worker, shards) : [])),
            giveBack: statement("wakeUp", () => model.wakeUp(worker))
          }
          if (worker.hears) woken.listening(worker.locks)
          return Effect.never
        })
    }),
    Layer.succeed(Receiver, { fixedHeaders: { "content-type": "application/json" }, send: receive }),
    Layer.succeed(WorkerConfig, {
      ...defaults,
      batchSize: climate.slots,
      maxConcurrency: 1,
      endpointConcurrency: climate.endpointConcurrency,
      retryDelayMs: climate.retryDelayMs,
      requestTimeoutMs: HANG_MS,
      bodyTimeoutMs: 100
    }),
    Layer.succeed(Tuning, climate.tuning)
  )
}
