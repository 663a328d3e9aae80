/** A DATABASE_URL with several hosts, on a PostgreSQL with real replication. */
import { type AddressInfo, createServer, type Server } from "node:net"
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import { ask, hostsOf, NoPrimary } from "@posthorn/persistence/client/Hosts"
import * as PreparedStatements from "@posthorn/persistence/client/PreparedStatements"
import * as ReplicatedCluster from "@posthorn/testkit/ReplicatedCluster"
import { type Duration, Effect, Fiber, Layer, Redacted, Schedule, Schema } from "effect"

const SWITCH = "select inet_server_port() as port"

/**
 * For the pool that asks while there is no primary, and shorter than that period: a socket that was never connected must not
 * end the process. On a busy machine an answer may take longer than this, so callers try again, as processes do.
 */
const SILENCE = "300 millis"

const live = (url: string, silence?: Duration.DurationInput, maxConnections = 3) =>
  Layer.merge(DedicatedConnection.layer, PreparedStatements.layer).pipe(
    Layer.provideMerge(
      Database.layer({
        url: Redacted.make(url),
        applicationName: "posthorn hosts",
        maxConnections,
        ...(silence !== undefined && { silence })
      })
    )
  )

/** The port that each kind of connection reaches. */
const ports = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prepared = yield* PreparedStatements.PreparedStatements
  const dedicated = yield* DedicatedConnection.DedicatedConnections
  const [pooled] = yield* sql<{ port: number }>`select inet_server_port() as port`
  const [row] = yield* prepared.run({ name: "port", text: SWITCH, row: Schema.Tuple(Schema.Number) }, [])
  const connection = yield* dedicated.open("posthorn hosts")
  const [own] = yield* connection.query(SWITCH, [], Schema.Struct({ port: Schema.Number }))
  return [pooled!.port, Number(row![0]), own!.port]
}).pipe(Effect.scoped)

/** Retries, as processes do. */
const inTheEnd = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.retry(self, Schedule.spaced("50 millis")).pipe(Effect.timeout("60 seconds"))

/** A connection that is refused a write leads to a standby now, even if it was made to a primary: it is closed. */
const refusedWrite = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const refused = yield* Effect.gen(function* () {
    const one = yield* sql.reserve
    const run = (statement: string) => one.executeUnprepared(statement, [], undefined)
    yield* run("set default_transaction_read_only = on")
    const error = yield* Effect.flip(run("create table posthorn.t ()"))
    return [error, yield* Effect.flip(run("select 1"))]
  }).pipe(Effect.scoped)
  expect(refused[0]).toMatchObject({ cause: { code: "25006" } })
  yield* sql`create table posthorn.t ()`
})

/** A caller that waits for the only connection does not get one that leads to a standby. */
const nextInLine = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`set default_transaction_read_only = on`
  const both = yield* Effect.all([Effect.flip(sql`create table posthorn.t ()`), sql`select 1 as one`], {
    concurrency: "unbounded"
  })
  expect(both).toMatchObject([{ cause: { code: "25006" } }, [{ one: 1 }]])
})

/** A port that accepts connections and never answers. */
const darkHost = Effect.map(
  Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const server = createServer(() => undefined)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ),
  (server) => (server.address() as AddressInfo).port
)

const reversed = (url: string) => url.replace(/@([^,]*),([^/]*)\//, "@$2,$1/")

it.scopedLive("§10 of several hosts the writable one is found, also after death and promotion", () =>
  Effect.gen(function* () {
    const cluster = yield* ReplicatedCluster.make
    const [first, second] = hostsOf(cluster.url)!.map((url) => Number(new URL(url).port)) as [number, number]
    const all = (port: number) => [port, port, port]
    // This URL names the standby first.
    expect(yield* Effect.provide(ports, live(reversed(cluster.url)))).toEqual(all(first))

    yield* Effect.gen(function* () {
      expect(yield* ports).toEqual(all(first))
      yield* refusedWrite
      yield* Effect.provide(nextInLine, live(cluster.url, undefined, 1))
      yield* cluster.kill
      // Open connections break first.
      const none = yield* inTheEnd(
        Effect.filterOrFail(
          Effect.flip(ports),
          ({ cause }) => cause instanceof NoPrimary,
          () => "not yet"
        )
      )
      expect(none.cause).toMatchObject({
        message: `No host accepts writes: 127.0.0.1:${first}, 127.0.0.1:${second}`
      })
      // A host that does not answer is waited for, but a standby that is promoted meanwhile is found.
      const dark = yield* darkHost
      const withDark = cluster.url.replace(`:${first},`, `:${dark},`)
      const beside = yield* Effect.fork(inTheEnd(Effect.provide(ports, live(withDark, SILENCE))))
      // biome-ignore lint/plugin: for so long a host may be silent
      yield* Effect.sleep(SILENCE)
      yield* cluster.promote
      expect(yield* inTheEnd(ports)).toEqual(all(second))
      expect(yield* Fiber.join(beside).pipe(Effect.timeout("60 seconds"))).toEqual(all(second))

      // The dead server comes back as a standby; then the roles change once more, in order.
      yield* cluster.follow
      expect(yield* ports).toEqual(all(second))
      yield* cluster.stop
      yield* cluster.promote
      expect(yield* inTheEnd(ports)).toEqual(all(first))
    }).pipe(Effect.provide(live(cluster.url)))
  })
)

it("§10 splits a URL by its hosts, and gives null without one", () => {
  expect(
    hostsOf("postgresql://u:p%40@a:1,[::1]:2,c/d?sslmode=verify-full&target_session_attrs=read-write")
  ).toEqual([
    "postgresql://u:p%40@a:1/d?sslmode=verify-full",
    "postgresql://u:p%40@[::1]:2/d?sslmode=verify-full",
    "postgresql://u:p%40@c/d?sslmode=verify-full"
  ])
  expect(hostsOf("postgres://u@a/d")).toEqual(["postgres://u@a/d"])
  for (const wrong of ["mysql://u@a/d", "postgres://u@a:x,b/d", "postgres://u@a,/d", "postgres://u@,b/d"])
    expect(hostsOf(wrong), wrong).toBeNull()
})

it("§10 says of each host why it is not the primary", async () => {
  const { error, writes } = await ask("postgresql://u:p@127.0.0.1:1/x")
  expect([writes, (error as { readonly code?: string }).code]).toEqual([false, "ECONNREFUSED"])
})
