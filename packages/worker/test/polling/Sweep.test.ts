/**
 * Waiting deliveries of disabled endpoints, however many, delay nothing new and are not read repeatedly. On a real
 * PostgreSQL.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import * as Queue from "@posthorn/persistence/engine/Queue"
import * as Records from "@posthorn/persistence/engine/Records"
import * as ReplaySteps from "@posthorn/persistence/engine/ReplaySteps"
import * as HourlyRollups from "@posthorn/persistence/operations/HourlyRollups"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { until } from "@posthorn/testkit/Until"
import { Effect, Layer } from "effect"
import * as Sender from "../../src/attempt/Sender.ts"
import * as Engine from "../../src/Engine.ts"
import { Alerting } from "../../src/loops/Alerts.ts"
import { Judging } from "../../src/loops/Judging.ts"
import * as Shards from "../../src/ownership/Shards.ts"
import * as Listener from "../../src/polling/Listener.ts"
import { Tuning, tuned } from "../../src/Tuning.ts"
import { WorkerConfig } from "../../src/WorkerConfig.ts"
import { endpoints, publishTo, within } from "../processes/Story.ts"
import { endpoint, publish, Setting, settings, workspace } from "../Setting.ts"

const DISABLED = 100
const EACH = 200
const SWEEP_MS = 300

interface Counted {
  rows: number
  sweeps: number
}

/** The real queue, counting the rows that it returns. */
const counting = (counted: Counted) =>
  Layer.effect(
    Queue.Queue,
    Effect.map(Queue.Queue, (queue): Queue.Queue["Type"] => {
      const count = (rows: ReadonlyArray<unknown>) =>
        Effect.sync(() => {
          counted.rows += rows.length
        })
      return {
        ...queue,
        due: (...asked) => Effect.tap(queue.due(...asked), ({ rows }) => count(rows)),
        dueOfEndpoints: (...asked) => Effect.tap(queue.dueOfEndpoints(...asked), count),
        firstOfEndpoints: (...asked) =>
          Effect.tap(queue.firstOfEndpoints(...asked), ({ rows }) => {
            counted.sweeps += 1
            return count(rows)
          })
      }
    })
  ).pipe(Layer.provide(Queue.layer))

const worker = (counted: Counted) =>
  Layer.build(
    Layer.scopedDiscard(Engine.start).pipe(
      Layer.provide([
        counting(counted),
        Records.layer,
        ReplaySteps.layer,
        Retention.layer,
        HourlyRollups.layer,
        Layer.succeed(Alerting, {
          fold: Effect.void,
          send: Effect.void,
          settled: Effect.void,
          run: () => Effect.never
        }),
        Layer.succeed(Judging, { round: Effect.void, run: () => Effect.never }),
        Sender.layer
      ]),
      Layer.provide([Shards.layer, Listener.layer]),
      Layer.provide(DatabaseClock.Default),
      Layer.provide(DedicatedConnection.layer),
      Layer.provide(Layer.succeed(WorkerConfig, settings)),
      Layer.fresh
    )
  ).pipe(Effect.provideService(Tuning, { ...tuned, sweepMs: SWEEP_MS }))

layer(Setting, { excludeTestServices: true })("20,000 deliveries of disabled endpoints", (it) => {
  it.scoped(
    "§3.1 are not read again and again, and new deliveries do not wait for them",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        yield* endpoints(acme, DISABLED, () => receiver.url("/disabled"))
        yield* publishTo(acme, DISABLED, EACH)
        yield* sql`update posthorn.endpoints set enabled = false, disabled_reason = 'manual'`
        yield* endpoint(acme, receiver.url("/ok"))
        const counted: Counted = { rows: 0, sweeps: 0 }
        yield* worker(counted)

        /** How many rows are read while this many deliveries get through, with a sweep after each. */
        const readDuring = (deliveries: number) =>
          Effect.gen(function* () {
            const { rows, sweeps } = counted
            for (let n = 0; n < deliveries; n++) {
              const before = counted.sweeps
              const sent = receiver.receivedAt("/ok").length
              yield* publish(acme)
              yield* receiver.waitFor(sent + 1, "/ok")
              yield* until(
                Effect.sync(() => counted.sweeps),
                (sweeps) => sweeps > before
              )
            }
            return { rows: counted.rows - rows, sweeps: counted.sweeps - sweeps }
          })
        // One row of each endpoint, and each new one as often as it is met. At first it is not known that the endpoints are
        // disabled.
        const isLittle = (read: Counted) => read.rows <= read.sweeps * (DISABLED + 5)
        yield* within(60, readDuring(1), isLittle)

        const read = yield* readDuring(8)

        assert.isTrue(isLittle(read), `${read.rows} rows in ${read.sweeps} sweeps`)
        assert.isAtLeast(read.sweeps, 8)
        assert.isEmpty(receiver.receivedAt("/disabled"))
      }),
    240_000
  )
})
