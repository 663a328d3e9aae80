/** A role that may only connect takes the workers' locks: it gets no share, and the log names it. */
import { expect, it } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { execute, randomName } from "@posthorn/testkit/TestCluster"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { Effect, Layer, Logger, LogLevel, Redacted } from "effect"
import pg from "pg"
import { drained, endpoint, publish, Setting, statuses, until, worker, workspace } from "../Setting.ts"

const CLASS = 7_067_002
const MEMBER = 1_000_000

/** A session of a role without any right, and how to end it. */
const foreignSession = Effect.gen(function* () {
  const url = new URL(Redacted.value(yield* TestDatabaseUrl))
  const role = randomName("visitor")
  yield* Effect.acquireRelease(execute(url.href, `create role ${role} login password 'x'`), () =>
    execute(url.href, `drop role ${role}`)
  )
  const own = new URL(url)
  own.username = role
  own.password = "x"
  const client = new pg.Client({ connectionString: own.href, application_name: "psql" })
  client.on("error", () => undefined)
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect()),
    () => Effect.promise(() => client.end())
  )
  const run = (statement: string) => Effect.promise(() => client.query(statement))
  return { role, run }
})

const lines: Array<string> = []
const listening = Layer.merge(
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => void lines.push(String(message)))
  ),
  Logger.minimumLogLevel(LogLevel.Info)
)
const said = (text: string) =>
  until(
    Effect.sync(() => lines.filter((line) => line.includes(text))),
    (all) => all.length > 0
  )

it.scopedLive(
  "§12 a foreign session that holds shards takes no share and is named; when it ends, all is delivered",
  () =>
    Effect.gen(function* () {
      lines.length = 0
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      for (let n = 0; n < 20; n++) yield* endpoint(acme, receiver.url("/status/200"), "invoice.paid")
      const { role, run } = yield* foreignSession
      yield* run(`select pg_advisory_lock_shared(${CLASS}, ${MEMBER})`)
      yield* run(`select pg_advisory_lock(${CLASS}, shard) from generate_series(0, 15) as shard`)

      yield* worker()
      const [warning] = yield* said("holds Posthorn's locks and is no worker")
      yield* publish(acme)
      // This worker owns the other 16 shards: the foreign session is not a member.
      yield* until(statuses(acme), (all) => all.includes("delivered") && all.includes("pending"))
      yield* run("select pg_advisory_unlock_all()")
      yield* said("No foreign session holds Posthorn's locks any more")
      yield* drained(acme)

      expect(warning).toMatch(
        /^Session \d+ of the role visitor_\w+ \(psql\) holds Posthorn's locks and is no worker: 16 of 32 shards/
      )
      expect(warning).toContain(role)
      expect(lines.filter((line) => line.includes("is no worker"))).toHaveLength(1)
      expect(new Set(yield* statuses(acme))).toEqual(new Set(["delivered"]))
    }).pipe(Effect.scoped, Effect.provide(listening), Effect.provide(Setting))
)

it.scopedLive("§12 a foreign session that keeps all workers out is named until it ends", () =>
  Effect.gen(function* () {
    lines.length = 0
    const receiver = yield* makeReceiver()
    const acme = yield* workspace
    yield* endpoint(acme, receiver.url("/status/200"))
    const { run } = yield* foreignSession
    yield* run(`select pg_advisory_lock(${CLASS}, ${MEMBER})`)

    yield* worker()
    const [warning] = yield* said("is no worker")
    yield* publish(acme)
    yield* run("select pg_advisory_unlock_all()")
    yield* drained(acme)

    expect(warning).toContain("0 of 32 shards")
    expect(yield* statuses(acme)).toEqual(["delivered"])
  }).pipe(Effect.scoped, Effect.provide(listening), Effect.provide(Setting))
)
