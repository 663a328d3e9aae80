/**
 * A loop of the engine that ends by a defect: the program that runs the worker is told, because the worker may no longer
 * deliver.
 */
import { assert, layer } from "@effect/vitest"
import type { Observation } from "@posthorn/domain/Verdict"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import * as Queue from "@posthorn/persistence/engine/Queue"
import * as Records from "@posthorn/persistence/engine/Records"
import * as ReplaySteps from "@posthorn/persistence/engine/ReplaySteps"
import * as HourlyRollups from "@posthorn/persistence/operations/HourlyRollups"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Cause, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import * as Sender from "../../src/attempt/Sender.ts"
import * as Engine from "../../src/Engine.ts"
import { Alerting } from "../../src/loops/Alerts.ts"
import { Judging } from "../../src/loops/Judging.ts"
import * as Shards from "../../src/ownership/Shards.ts"
import * as Listener from "../../src/polling/Listener.ts"
import { WorkerConfig, type WorkerSettings } from "../../src/WorkerConfig.ts"
import { connectionsNamed } from "../processes/Story.ts"
import { drained, endpoint, publish, Setting, settings, statuses, until, workspace } from "../Setting.ts"

type Calls = Partial<Queue.Queue["Type"]>
type Results = Records.Records["Type"]

/** The engine over the real queue and records, with some calls replaced. */
const engineWith = (
  calls: Calls,
  results: Partial<Results> = {},
  receiver: Layer.Layer<Sender.Sender, never, WorkerConfig> = Sender.layer,
  changes: Partial<WorkerSettings> = {}
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
        HourlyRollups.layer,
        Layer.succeed(Alerting, {
          fold: Effect.void,
          send: Effect.void,
          settled: Effect.void,
          run: () => Effect.never
        }),
        Layer.succeed(Judging, { round: Effect.void, run: () => Effect.never }),
        receiver,
        Shards.layer,
        Listener.layer
      ).pipe(
        Layer.provideMerge(DatabaseClock.Default),
        Layer.provide(DedicatedConnection.layer),
        Layer.provideMerge(Layer.succeed(WorkerConfig, { ...settings, ...changes })),
        Layer.fresh
      )
    )
    return yield* Effect.provide(Engine.start, parts)
  })

const defect = Effect.die(new Error("a fault of ours"))

const UNJUDGEABLE: Observation = {
  get httpStatus(): never {
    throw new Error("a fault of ours")
  },
  failureReason: null,
  durationMs: 1,
  responseBody: null
}

const ANSWERED: Observation = { httpStatus: 200, failureReason: null, durationMs: 1, responseBody: "" }

/** An observation that cannot be judged; `answering` resolves when it was made. */
const breakingBy = (answering: (answer: () => void) => void) =>
  Layer.succeed(Sender.Sender, {
    requestToken: () => () => undefined,
    fixedHeaders: {},
    send: () => Effect.async((resume) => answering(() => resume(Effect.succeed(UNJUDGEABLE))))
  })
const breaking = breakingBy(queueMicrotask)

layer(Setting, { excludeTestServices: true })("an engine of which a loop breaks", (it) => {
  for (const [loop, calls, results, other] of [
    ["poller", { due: () => defect }, {}],
    ["loader", { load: () => defect }, {}],
    ["slots", {}, {}, breaking],
    ["recorder", {}, { record: () => defect }]
  ] as ReadonlyArray<[string, Calls, Partial<Results>, Layer.Layer<Sender.Sender>?]>)
    it.scoped(`§3.4 reports when the ${loop} breaks`, () =>
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

  it.scoped("§3.4 reports when a slot breaks, although the others have enough to do", () =>
    Effect.gen(function* () {
      const acme = yield* workspace
      yield* endpoint(acme, "https://receiver.example/")
      const waiting = 2_000
      yield* publish(acme, waiting)
      let sent = 0
      const breaksOnce = Layer.succeed(Sender.Sender, {
        requestToken: () => () => undefined,
        fixedHeaders: {},
        // biome-ignore lint/plugin: a slow receiver
        send: () => Effect.delay(Effect.succeed(++sent === 500 ? UNJUDGEABLE : ANSWERED), "1 millis")
      })

      const broken = yield* engineWith({}, {}, breaksOnce, { endpointConcurrency: 20 })
      yield* Effect.exit(Effect.timeout(broken, "20 seconds"))

      assert.isBelow(sent, waiting)
    })
  )

  it.scoped("§3.4 reports when judging breaks while it stops, and does not wait for what broke", () =>
    Effect.gen(function* () {
      const acme = yield* workspace
      yield* endpoint(acme, "https://receiver.example/")
      yield* publish(acme)
      // Includes what other tests left behind.
      const answers: Array<() => void> = []
      const holding = breakingBy((answer) => void answers.push(answer))
      const said: Array<string> = []
      const listening = Logger.add(
        Logger.make(({ cause, message }) => void said.push(`${message} ${Cause.pretty(cause)}`))
      )
      const life = yield* Scope.make()

      yield* engineWith({}, {}, holding, { requestTimeoutMs: 120_000 }).pipe(
        Scope.extend(life),
        Effect.provide(listening)
      )
      yield* until(
        Effect.sync(() => answers.length),
        (sent) => sent > 0
      )
      const stopping = yield* Effect.fork(Scope.close(life, Exit.void))
      yield* until(connectionsNamed("posthorn listener"), (left) => left.length === 0)
      for (const answer of answers) answer()
      const stopped = yield* Effect.exit(Effect.timeout(Fiber.join(stopping), "20 seconds"))

      assert.isTrue(Exit.isSuccess(stopped), String(stopped))
      const [line = ""] = said.filter((one) => one.includes("could not be judged"))
      assert.include(line, "a fault of ours")
    })
  )

  it.scoped("§3.4 reports nothing while it works", () =>
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
