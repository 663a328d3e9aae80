/** What waits of disabled endpoints, however much, keeps nothing new waiting and is not read again. On a real PostgreSQL. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import * as DedicatedConnection from "@posthorn/persistence/DedicatedConnection"
import * as Queue from "@posthorn/persistence/Queue"
import * as Records from "@posthorn/persistence/Records"
import * as ReplaySteps from "@posthorn/persistence/ReplaySteps"
import * as Retention from "@posthorn/persistence/Retention"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Layer } from "effect"
import * as Engine from "../src/Engine.ts"
import * as Receiver from "../src/Receiver.ts"
import * as Shards from "../src/Shards.ts"
import { Tuning, tuned } from "../src/Tuning.ts"
import * as Wakeups from "../src/Wakeups.ts"
import { WorkerConfig } from "../src/WorkerConfig.ts"
import { endpoints, publishTo } from "./processes/Story.ts"
import { endpoint, publish, Setting, settings, workspace } from "./Setting.ts"

const DISABLED = 100
const EACH = 200
const SWEEP_MS = 300

interface Counted {
  rows: number
  sweeps: number
}

/** The real queue, counting the rows that it gives. */
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
        dueOf: (...asked) => Effect.tap(queue.dueOf(...asked), count),
        heads: (...asked) =>
          Effect.tap(queue.heads(...asked), ({ rows }) => {
            counted.sweeps += 1
            return count(rows)
          })
      }
    })
  ).pipe(Layer.provide(Queue.layer))

const worker = (counted: Counted) =>
  Layer.build(
    Layer.scopedDiscard(Engine.start).pipe(
      Layer.provide([counting(counted), Records.layer, ReplaySteps.layer, Retention.layer, Receiver.layer]),
      Layer.provide([Shards.layer, Wakeups.layer]),
      Layer.provide(DedicatedConnection.layer),
      Layer.provide(Layer.succeed(WorkerConfig, settings)),
      Layer.fresh
    )
  ).pipe(Effect.provideService(Tuning, { ...tuned, sweepMs: SWEEP_MS }))

layer(Setting, { excludeTestServices: true })("20,000 deliveries of disabled endpoints", (it) => {
  it.scoped(
    "§3.1 are not read again and again, and what is new does not wait for them",
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

        for (let n = 1; n <= 8; n++) {
          const before = counted.sweeps
          yield* publish(acme)
          yield* receiver.waitFor(n, "/ok")
          yield* Effect.repeat(Effect.sleep(20), { until: () => counted.sweeps > before })
        }

        // A part of them until it is known that their endpoints are disabled, then one of each endpoint for each sweep.
        const allowed = (DISABLED * EACH) / 2 + counted.sweeps * (DISABLED + 1)
        assert.isAtMost(counted.rows, allowed, `${counted.sweeps} sweeps`)
        assert.isAtLeast(counted.sweeps, 8)
        assert.isEmpty(receiver.receivedAt("/disabled"))
      }),
    90_000
  )
})
