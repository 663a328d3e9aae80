/** A loop of the engine that breaks by a defect: whoever runs the worker hears of it, as it may deliver no longer. */
import { assert, layer } from "@effect/vitest"
import * as DedicatedConnection from "@posthorn/persistence/DedicatedConnection"
import * as HourCounts from "@posthorn/persistence/HourCounts"
import * as Queue from "@posthorn/persistence/Queue"
import * as Records from "@posthorn/persistence/Records"
import * as ReplaySteps from "@posthorn/persistence/ReplaySteps"
import * as Retention from "@posthorn/persistence/Retention"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Cause, Effect, Exit, Layer } from "effect"
import * as Engine from "../src/Engine.ts"
import * as Receiver from "../src/Receiver.ts"
import * as Shards from "../src/Shards.ts"
import * as Wakeups from "../src/Wakeups.ts"
import { WorkerConfig } from "../src/WorkerConfig.ts"
import { drained, endpoint, publish, Setting, settings, statuses, workspace } from "./Setting.ts"

type Calls = Partial<Queue.Queue["Type"]>
type Results = Records.Records["Type"]

/** The engine over the real queue and records, some of whose calls are others. */
const engineWith = (
  calls: Calls,
  results: Partial<Results> = {},
  receiver: Layer.Layer<Receiver.Receiver, never, WorkerConfig> = Receiver.layer
) =>
  Effect.gen(function* () {
    const parts = yield* Layer.build(
      Layer.mergeAll(
        Layer.effect(
          Queue.Queue,
          Effect.map(Queue.Queue, (queue) => ({ ...queue, ...calls }))
        ).pipe(Layer.provide(Queue.layer)),
        Layer.effect(
          Records.Records,
          Effect.map(Records.Records, (records) => ({ ...records, ...results }))
        ).pipe(Layer.provide(Records.layer)),
        ReplaySteps.layer,
        Retention.layer,
        HourCounts.layer,
        receiver,
        Shards.layer,
        Wakeups.layer
      ).pipe(
        Layer.provide(DedicatedConnection.layer),
        Layer.provideMerge(Layer.succeed(WorkerConfig, settings)),
        Layer.fresh
      )
    )
    return yield* Effect.provide(Engine.start, parts)
  })

const defect = Effect.die(new Error("a fault of ours"))

/** What it has seen cannot be judged. */
const breaking = Layer.succeed(Receiver.Receiver, {
  fixedHeaders: {},
  send: (_, done) =>
    queueMicrotask(() =>
      done({
        get httpStatus(): never {
          throw new Error("a fault of ours")
        },
        failureReason: null,
        durationMs: 1,
        responseBody: null
      })
    )
})

layer(Setting, { excludeTestServices: true })("an engine of which a loop breaks", (it) => {
  for (const [loop, calls, results, other] of [
    ["reader", { due: () => defect }, {}],
    ["loader", { load: () => defect }, {}],
    ["pool", {}, {}, breaking],
    ["ledger", {}, { record: () => defect }]
  ] as ReadonlyArray<[string, Calls, Partial<Results>, Layer.Layer<Receiver.Receiver>?]>)
    it.scoped(`decision §7 says so when the ${loop} breaks`, () =>
      Effect.gen(function* () {
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        yield* endpoint(acme, receiver.url("/ok"))
        yield* publish(acme)

        const broken = yield* engineWith(calls, results, other)
        const exit = yield* Effect.exit(Effect.timeout(broken, "10 seconds"))

        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause), String(exit))
        assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "a fault of ours")
      })
    )

  it.scoped("decision §7 says nothing while it works", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/status/200"))
      yield* publish(acme)

      const broken = yield* engineWith({})
      yield* drained(acme)
      const exit = yield* Effect.exit(Effect.timeout(broken, "300 millis"))

      assert.deepStrictEqual(yield* statuses(acme), ["delivered"])
      assert.isTrue(Exit.isFailure(exit) && !Cause.isDie(exit.cause), String(exit))
    })
  )
})
