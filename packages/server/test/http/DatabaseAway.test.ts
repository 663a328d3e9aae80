/** Answers while the database is unreachable, hangs, or is saturated, and recovery without a restart. */

import { connect, createServer, type Server, type Socket } from "node:net"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import { atBest } from "@posthorn/testkit/AtBest"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { until } from "@posthorn/testkit/Until"
import { Context, Effect, Layer, Logger, LogLevel, Redacted } from "effect"
import { type Answer, entered, type Loose, TestServer, testServer } from "../TestServer.ts"

/** A proxy to the database that can be cut. */
class Line extends Context.Tag("test/Line")<
  Line,
  { readonly cut: Effect.Effect<void>; readonly mend: Effect.Effect<void>; readonly port: number }
>() {}

const CONNECTIONS = 4

const listening = (server: Server, port: number) =>
  Effect.async<number>((resume) => {
    server.listen(port, "127.0.0.1", () =>
      resume(Effect.succeed((server.address() as { port: number }).port))
    )
  })

const makeLine = (target: URL) =>
  Effect.gen(function* () {
    const sockets = new Set<Socket>()
    const server = createServer((inward) => {
      const outward = connect(Number(target.port), target.hostname)
      for (const socket of [inward, outward]) {
        sockets.add(socket)
        socket.on("error", () => {}).once("close", () => sockets.delete(socket))
      }
      inward.pipe(outward).pipe(inward)
    })
    const port = yield* listening(server, 0)
    const cut = Effect.async<void>((resume) => {
      server.close(() => resume(Effect.void))
      for (const socket of sockets) socket.destroy()
    })
    yield* Effect.addFinalizer(() => cut)
    return { cut, mend: Effect.asVoid(listening(server, port)), port }
  })

const line = Layer.scoped(
  Line,
  Effect.flatMap(TestDatabaseUrl, (url) => makeLine(new URL(Redacted.value(url))))
).pipe(Layer.provideMerge(Layer.scoped(TestDatabaseUrl, freshDatabase)))

const throughTheLine = Layer.unwrapEffect(
  Effect.gen(function* () {
    const url = new URL(Redacted.value(yield* TestDatabaseUrl))
    url.port = String((yield* Line).port)
    return Database.layer({
      url: Redacted.make(url.href),
      applicationName: "posthorn-test",
      maxConnections: CONNECTIONS,
      perWorkspace: CONNECTIONS
    })
  })
).pipe(Layer.orDie)

const database = throughTheLine.pipe(Layer.provideMerge(line))

const timed = <A>(self: Effect.Effect<A>) =>
  Effect.gen(function* () {
    const began = performance.now()
    const value = yield* self
    return [value, performance.now() - began] as const
  })

const unavailable = (answer: Answer<Loose>) => ({
  status: answer.status,
  tag: answer.body._tag,
  retry: answer.headers.get("retry-after"),
  traced: /^[0-9a-f]{32}$/.test(answer.headers.get("x-trace-id") ?? "")
})

const AWAY = { status: 503, tag: "ServiceUnavailable", retry: "2", traced: true }

/** The log has a line for each refused call. */
const silent = Logger.minimumLogLevel(LogLevel.None)

layer(Layer.merge(testServer({ database }), line).pipe(Layer.provide(silent)), { excludeTestServices: true })(
  "a database",
  (it) => {
    it.effect("§7.1 that is unreachable gives 503 with Retry-After at once, and works again afterwards", () =>
      Effect.gen(function* () {
        const { call, enter } = yield* TestServer
        const { cut, mend } = yield* Line
        const ws = yield* enter
        yield* ws.call("GET", "/webhooks")

        const asking = timed(
          Effect.all(
            Array.from({ length: 20 }, () => ws.call("GET", "/webhooks")),
            { concurrency: "unbounded" }
          )
        )
        yield* cut
        const [answers, took] = yield* atBest(2_000, asking, ([, ms]) => ms)
        const publish = yield* ws.call("POST", "/events", { body: { eventType: "a.b", payload: 1 } })
        const ready = yield* call("GET", "/health/ready")
        const live = yield* call("GET", "/health/live")
        yield* mend
        const back = yield* ws.call("POST", "/events", { body: { eventType: "a.b", payload: 1 } })
        // The result of a check is kept for a second.
        const readyAgain = yield* until(
          call("GET", "/health/ready"),
          ({ status }) => status === 200,
          "10 seconds"
        )

        expect([...answers, publish].map(unavailable)).toEqual(Array.from({ length: 21 }, () => AWAY))
        expect(took).toBeLessThan(2_000)
        expect([ready.status, live.status, back.status, readyAgain.status]).toEqual([503, 200, 202, 200])
      })
    )

    it.effect("§7.1 that ends its connections affects only the calls in flight", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const ws = yield* entered
        yield* Effect.all(
          Array.from({ length: 8 }, () => ws.call("GET", "/webhooks")),
          { concurrency: "unbounded" }
        )

        yield* sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`.pipe(Effect.orDie)
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => ws.call("GET", "/webhooks")),
          { concurrency: "unbounded" }
        )
        const after = yield* ws.call("GET", "/webhooks")

        for (const { status } of answers) expect([200, 503]).toContain(status)
        expect(after.status).toBe(200)
      })
    )

    it.effect(
      "§7.1 without a free connection gives 503 after the wait for one",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const ws = yield* entered
          let held = 0
          const hold = sql.reserve.pipe(
            Effect.tap(() => Effect.sync(() => void held++)),
            Effect.zipRight(Effect.never),
            Effect.scoped
          )

          const holders = yield* Effect.forkAll(Array.from({ length: CONNECTIONS }, () => hold))
          yield* until(
            Effect.sync(() => held),
            (n) => n === CONNECTIONS
          )
          const call = timed(ws.call("GET", "/webhooks/deliveries"))
          const [answer, took] = yield* atBest(8_000, call, ([, ms]) => ms)
          yield* holders.pipe((fiber) => Effect.asVoid(fiber.interruptAsFork(fiber.id())))
          let after = yield* ws.call("GET", "/webhooks/deliveries")
          for (let tries = 0; after.status !== 200 && tries < 20; tries++)
            after = yield* ws.call("GET", "/webhooks/deliveries")

          expect(unavailable(answer)).toEqual(AWAY)
          expect(took).toBeLessThan(8_000)
          expect(after.status).toBe(200)
        }),
      40_000
    )
  }
)
