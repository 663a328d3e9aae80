/** Shared publishes when callers leave, the database is lost, or the server stops. */
import { connect } from "node:net"
import { expect, it } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Context, Effect, Exit, Fiber, Layer, Logger, LogLevel, Option, Redacted, Scope } from "effect"
import pg from "pg"
import { makeEndpoint, type Published } from "../Fixtures.ts"
import { type Entered, type Loose, TestServer, testServer } from "../TestServer.ts"

const AT_ONCE = 80

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** A server over a database that outlives it. */
const started = Effect.gen(function* () {
  const url = yield* freshDatabase
  const scope = yield* Scope.make()
  const database = Database.layer({ url, applicationName: "posthorn-test", maxConnections: 10 }).pipe(
    Layer.orDie,
    Layer.merge(Layer.succeed(TestDatabaseUrl, url))
  )
  const context = yield* Layer.buildWithScope(
    testServer({ database }).pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.None))),
    scope
  )
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: Redacted.value(url) })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  const query = <Row extends object>(text: string) =>
    Effect.map(
      Effect.promise(() => client.query<Row>(text)),
      ({ rows }) => rows
    )
  return { query, server: Context.get(context, TestServer), stop: Scope.close(scope, Exit.void) }
})

const post = (ws: Entered, n: number) =>
  ws.call<Published & Loose>("POST", "/events", {
    body: { eventType: "a.b", payload: n, idempotencyKey: `key-${n}` }
  })

/** The result: an answer, or the end of the connection. */
const ended = (ws: Entered, n: number) => Effect.option(Effect.catchAllDefect(post(ws, n), Effect.fail))

type Query = Effect.Effect.Success<typeof started>["query"]

const storedOf = (query: Query, ws: Entered) =>
  query<{ id: string; payload: string }>(
    `select id, payload from posthorn.events where workspace_id = '${ws.workspaceId}' and event_type = 'a.b'`
  )

const END_PUBLISHING = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and query like '%publish_each%'`

it.scopedLive("§7.1 when the database ends its connections, nothing that was answered with 202 is lost", () =>
  Effect.gen(function* () {
    const { query, server, stop } = yield* started
    const ws = yield* server.enter
    yield* makeEndpoint(ws)
    let ended = 0
    let begun = 0
    const answers: Array<{ readonly id: string; readonly n: number; readonly status: number }> = []
    // Waits until some connections were ended.
    const publisher = Effect.gen(function* () {
      while (begun < 400 || ended === 0) {
        const n = begun++
        const { body, status } = yield* post(ws, n)
        answers.push({ id: body.id, n, status })
      }
    })
    const publishing = yield* Effect.fork(
      Effect.all(
        numbers(AT_ONCE).map(() => publisher),
        { concurrency: "unbounded" }
      )
    )
    while (ended < 5 && Option.isNone(yield* Fiber.poll(publishing)))
      ended += (yield* query(END_PUBLISHING)).length
    yield* Fiber.join(publishing)
    const again = yield* Effect.all(
      numbers(begun).map((n) => post(ws, n)),
      { concurrency: AT_ONCE }
    )
    const events = yield* storedOf(query, ws)
    yield* stop

    const accepted = answers.filter(({ status }) => status === 202)
    expect(ended).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => status !== 202).every(({ status }) => status === 503)).toBe(true)
    expect(accepted.length).toBeGreaterThan(0)
    for (const { id, n } of accepted) expect(again[n]!.body).toMatchObject({ id, duplicate: true })
    expect(again.map(({ status }) => status)).toEqual(numbers(begun).map(() => 202))
    expect(events.map(({ payload }) => Number(payload)).sort((a, b) => a - b)).toEqual(numbers(begun))
  }).pipe(Effect.timeout("180 seconds"))
)

it.scopedLive("§10 a stopping server answers each publish that is under way, or closes its connection", () =>
  Effect.gen(function* () {
    const { query, server, stop } = yield* started
    const ws = yield* server.enter
    yield* makeEndpoint(ws)
    yield* post(ws, AT_ONCE)
    const publishing = yield* Effect.fork(
      Effect.all(
        numbers(AT_ONCE).map((n) => ended(ws, n)),
        { concurrency: "unbounded" }
      )
    )
    yield* storedOf(query, ws).pipe(Effect.repeat({ until: (rows) => rows.length > 1 }))
    yield* stop
    const answers = (yield* Fiber.join(publishing)).flatMap(Option.toArray)
    const ids = new Set((yield* storedOf(query, ws)).map(({ id }) => id))

    const accepted = answers.filter(({ status }) => status === 202)
    expect(accepted.length).toBeGreaterThan(0)
    expect(accepted.filter(({ body }) => !ids.has(body.id))).toEqual([])
    for (const { status } of answers) expect([202, 503]).toContain(status)
  }).pipe(Effect.timeout("180 seconds"))
)

it.scopedLive("§4.4 callers that leave do not affect publishes in the same statement", () =>
  Effect.gen(function* () {
    const { query, server, stop } = yield* started
    const ws = yield* server.enter
    yield* makeEndpoint(ws)
    const { hostname, port } = new URL(server.url)
    const body = (n: number) => `{"eventType":"a.b","payload":${n},"idempotencyKey":"key-${n}"}`
    const abandon = (n: number) =>
      Effect.async<void>((resume) => {
        const socket = connect(Number(port), hostname, () =>
          socket.write(
            `POST /workspaces/${ws.slug}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ws.token}\r\ncontent-type: application/json\r\ncontent-length: ${body(n).length}\r\n\r\n${body(n)}`,
            () => resume(Effect.sync(() => void socket.destroy()))
          )
        )
      })
    const answers = yield* Effect.all(
      numbers(AT_ONCE).map((n) => Effect.zipRight(Effect.fork(abandon(n)), post(ws, AT_ONCE + n))),
      { concurrency: "unbounded" }
    )
    const again = yield* Effect.all(
      numbers(2 * AT_ONCE).map((n) => post(ws, n)),
      { concurrency: "unbounded" }
    )
    const events = yield* storedOf(query, ws)
    yield* stop

    expect(answers.map(({ status }) => status)).toEqual(numbers(AT_ONCE).map(() => 202))
    for (const n of numbers(AT_ONCE)) expect(again[AT_ONCE + n]!.body.duplicate).toBe(true)
    expect(events).toHaveLength(2 * AT_ONCE)
  }).pipe(Effect.timeout("180 seconds"))
)
