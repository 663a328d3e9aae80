import { connect, type Socket } from "node:net"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, LogLevel, Scope } from "effect"
import { makeEndpoint } from "../Fixtures.ts"
import { sendRaw } from "../RawHttp.ts"
import { TestServer, type TestServerOptions, testServer } from "../TestServer.ts"

const startedWith = (options: TestServerOptions) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(testServer(options), scope)
    return { stop: Scope.close(scope, Exit.void), server: Context.get(context, TestServer) }
  })
const started = startedWith({})

/** A publish whose body is completed by hand. */
const openPublish = (url: string, slug: string, token: string) =>
  Effect.gen(function* () {
    const answered = yield* Deferred.make<string>()
    const { hostname, port } = new URL(url)
    const body = JSON.stringify({ eventType: "a.b", payload: 1 })
    const socket = connect(Number(port), hostname)
    let text = ""
    socket.on("data", (chunk) => {
      text += chunk
    })
    socket.on("close", () => Deferred.unsafeDone(answered, Exit.succeed(text)))
    socket.write(
      `POST /workspaces/${slug}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`
    )
    return { finish: Effect.sync(() => socket.write(body.slice(5))), answered: Deferred.await(answered) }
  })

it.live("§10 requests in flight when the server stops are answered, and the connection is closed", () =>
  Effect.gen(function* () {
    const { server, stop } = yield* started
    const ws = yield* server.enter
    yield* makeEndpoint(ws)
    const publish = yield* openPublish(server.url, ws.slug, ws.token)
    yield* ws.call("GET", "/webhooks")

    const stopping = yield* Effect.fork(stop)
    yield* Effect.yieldNow()
    yield* publish.finish
    const answer = yield* publish.answered
    yield* Fiber.join(stopping)

    expect(answer).toMatch(/^HTTP\/1\.1 202 /)
    expect(answer).toMatch(/connection: close/i)
  }).pipe(Effect.timeout("60 seconds"))
)

it.live("§7.1 a request that reaches a stopping server is a 503 of the common shape", () =>
  Effect.gen(function* () {
    const { server, stop } = yield* started
    const closed = Effect.tryPromise(() => fetch(`${server.url}/health/live`)).pipe(
      Effect.exit,
      Effect.repeat({ until: Exit.isFailure })
    )
    const begun = yield* Deferred.make<Socket>()
    const asking = yield* Effect.fork(
      sendRaw(server.url, (socket) =>
        socket.write("GET /health/live HTTP/1.1\r\nhost: ", () =>
          Deferred.unsafeDone(begun, Exit.succeed(socket))
        )
      )
    )
    const socket = yield* Deferred.await(begun)
    yield* server.call("GET", "/health/live")

    const stopping = yield* Effect.fork(stop)
    yield* closed
    socket.write("x\r\n\r\n")
    const answer = yield* Fiber.join(asking)
    yield* Fiber.join(stopping)

    expect(answer.status).toBe(503)
    expect(answer.body).toMatchObject({
      _tag: "ServiceUnavailable",
      detail: expect.stringMatching(/stopping/)
    })
    expect(answer.headers["x-trace-id"]).toBe(answer.body.traceId)
    expect(answer.headers.connection).toBe("close")
  }).pipe(Effect.timeout("60 seconds"))
)

it.live("§10 a stopping server first reports that it is not ready, and serves while it drains", () =>
  Effect.gen(function* () {
    const { server, stop } = yield* startedWith({ drainSeconds: 1 })
    const ws = yield* server.enter
    const ready = server.call("GET", "/health/ready")
    const before = yield* ready

    const stopping = yield* Effect.fork(stop)
    yield* Effect.yieldNow()
    const served = yield* ws.call("POST", "/events", { body: { eventType: "a.b", payload: 1 } })
    const refused = yield* server.call("GET", "/nowhere")
    const during = yield* ready
    yield* Fiber.join(stopping)
    const after = yield* Effect.tryPromise(() => fetch(`${server.url}/health/live`)).pipe(Effect.exit)

    expect([before.status, served.status, refused.status, during.status]).toEqual([200, 202, 404, 503])
    expect(during.body).toEqual({ status: "unavailable", reason: "draining" })
    expect([before, served, refused, during].map(({ headers }) => headers.get("connection"))).toEqual([
      "keep-alive",
      "close",
      "close",
      "close"
    ])
    expect(Exit.isFailure(after)).toBe(true)
  }).pipe(Effect.timeout("60 seconds"))
)

it.live("§7.1 an unexpected failure is a 500 with nothing but a trace id, and the log has the cause", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const log = Logger.replace(
      Logger.defaultLogger,
      Logger.map(Logger.jsonLogger, (line) => lines.push(line))
    )
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(testServer().pipe(Layer.provide(log)), scope)
    const { enter } = Context.get(context, TestServer)
    const ws = yield* enter
    const sql = Context.get(context, SqlClient)
    yield* sql`alter table posthorn.members rename column name to secret_name`

    const broken = yield* ws.call("GET", "/members")
    yield* Scope.close(scope, Exit.void)

    expect(broken.body).toEqual({
      _tag: "InternalError",
      type: "http://posthorn.test/reference#InternalError",
      title: expect.any(String),
      status: 500,
      detail: expect.any(String),
      traceId: broken.headers.get("x-trace-id")
    })
    expect(
      lines.filter((line) => line.includes(String(broken.body.traceId)) && line.includes("name"))
    ).toHaveLength(1)
  }).pipe(Effect.provide(Logger.minimumLogLevel(LogLevel.Info)))
)
