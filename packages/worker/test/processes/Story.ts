/**
 * Helpers of the tests with real processes: many endpoints, what the receiver saw, and the laws that the database must
 * satisfy afterwards, whatever happened.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Database from "@posthorn/persistence/client/Database"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import type { Environment } from "@posthorn/testkit/Command"
import { type Process, startWorker } from "@posthorn/testkit/Command"
import type { OwnCluster } from "@posthorn/testkit/OwnCluster"
import {
  type Behaviour,
  make as makeReceiver,
  type Received,
  type Receiver
} from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { Clock, Effect, Layer } from "effect"
import { expect } from "vitest"
import { box, endpoint, until, type Workspace, workspace } from "../Setting.ts"
import { WRONG } from "./Wrong.ts"

/**
 * 25 s is longer than a busy machine stalls, and shorter than the time between two sweeps: a row that only a sweep finds
 * counts as late.
 */
export const within = <A, E, R>(
  seconds: number,
  question: Effect.Effect<A, E, R>,
  right: (answer: A) => boolean
) => until(question, right, `${seconds} seconds`)

/** The duration in milliseconds. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    yield* effect
    return (yield* Clock.currentTimeMillis) - began
  })

/** `count` endpoints with event types `e.0`, `e.1`, …, at the paths that `pathOf` gives. */
export const endpoints = (where: Workspace, count: number, urlOf: (n: number) => string) =>
  Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    (n) => endpoint(where, urlOf(n), `e.n${n}`),
    { concurrency: 4 }
  )

/** `each` deliveries for each of the first `count` endpoints, in one transaction. */
export const publishTo = ({ slug }: Workspace, count: number, each = 1) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const types = Array.from({ length: count * each }, (_, n) => `e.n${n % count}`)
    const rows = yield* sql<{
      ids: Array<string>
    }>`select delivery_ids as ids from posthorn.publish_events(${slug},
      ${types}::text[], array_fill('{"n": 1}'::json, array[${types.length}]::integer[]),
      array_fill(null::text, array[${types.length}]::integer[]))`
    return rows.flatMap((row) => row.ids)
  })

/** Answers 200; the first `count` only when the test calls the functions put into `open`. */
export const holding =
  (count: number, open: Array<() => void>): Behaviour =>
  (answer) => {
    const reply = () => void answer.reply(200)
    if (answer.nth <= count) open.push(reply)
    else reply()
  }

/**
 * A worker with requests in flight: `count` endpoints with a number of deliveries each, some of which the receiver delays.
 */
export const inFlight = (count: number, each: number, held: number, environment: Environment = {}) =>
  Effect.gen(function* () {
    const open: Array<() => void> = []
    const receiver = yield* makeReceiver({ behaviours: { "/held": holding(held, open) } })
    const acme = yield* workspace
    yield* endpoints(acme, count, () => receiver.url("/held"))
    const worker = yield* startWorker(environment)
    yield* publishTo(acme, count, each)
    yield* receiver.waitFor(held)
    const release = Effect.sync(() => {
      for (const answer of open.splice(0)) answer()
    })
    return { receiver, release, worker }
  })

/**
 * Everything is delivered within 30 s. The worker remembers what it sent and records it when it can, so nothing is sent
 * again.
 */
export const goesOn = (
  { receiver, worker }: { readonly receiver: Receiver; readonly worker: Process },
  count: number
) =>
  Effect.gen(function* () {
    const isOver = ({ dead_lettered = 0, delivered = 0, pending = 0 }: Readonly<Record<string, number>>) =>
      dead_lettered + delivered === count && pending === 0
    yield* within(30, tally, isOver)
    expect(yield* tally).toEqual({ delivered: count })
    expect(repeatsIn(receiver.received)).toBe(0)
    expect(worker.running()).toBe(true)
    yield* lawsHold
  })

/** Ends the connections of all workers to this test's database. */
export const endConnections = rows`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'posthorn %'`

/** The setting of the other tests, on a PostgreSQL of its own. */
export const onOwnCluster = ({ url }: OwnCluster) =>
  Layer.mergeAll(
    Layer.orDie(Database.layer({ url, applicationName: "posthorn-test", maxConnections: 4 })),
    Layer.succeed(TestDatabaseUrl, url),
    Layer.succeed(SecretBox.SecretBox, box)
  )

export const idOf = (request: Received): string =>
  request.headers.find(([name]) => name.toLowerCase() === "webhook-id")![1]

/** The number of repeated requests, by delivery. */
export const repeatsIn = (received: ReadonlyArray<Received>): number =>
  received.length - new Set(received.map(idOf)).size

export const attemptsStored = Effect.map(
  rows<{ n: number }>`select count(*)::integer as n from posthorn.attempts`,
  ([row]) => row!.n
)

/** The number of deliveries with each status. */
export const tally = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{
      status: string
      n: number
    }>`select status, count(*)::integer as n from posthorn.deliveries group by 1`,
    (rows) => Object.fromEntries(rows.map(({ status, n }) => [status, n]))
  )
)

/** Laws that queries can check: nothing lost, evidence complete, summary and queue agree. */
export const lawsHold = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const [law, query] of Object.entries(WRONG)) {
    const wrong = yield* sql.unsafe<{ id: string }>(query)
    expect(
      wrong.map(({ id }) => id),
      law
    ).toEqual([])
  }
})

/** The number of shards that each worker's lock connection holds; largest first. */
export const shares = Effect.map(
  rows<{ n: number }>`select count(*)::integer as n from pg_locks
      where locktype = 'advisory' and classid = 7067002 and objid < posthorn.shard_count()
        and database = (select oid from pg_database where datname = current_database()) and granted
      group by pid order by 1 desc`,
  (found) => found.map(({ n }) => n)
)

/** Waits until the shards are shared like this. */
export const shared = (seconds: number, ...expected: ReadonlyArray<number>) =>
  within(seconds, shares, (now) => now.join() === expected.join())

/** Connections to this test's database, by the workers' names. */
export const connectionsNamed = (name: string) =>
  rows<{ pid: number; query: string; waits: string | null }>`select pid, query, wait_event_type as waits
      from pg_stat_activity where datname = current_database() and application_name = ${name}`

/** Waits until each worker has made its beat (Shards.ts, once a second) for this many seconds more. */
export const beatsLater = (seconds: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [{ from } = { from: "" }] = yield* sql<{ from: string }>`select clock_timestamp() as from`
    yield* within(
      seconds + 10,
      sql<{ late: number }>`select count(*)::integer as late from pg_stat_activity
        where datname = current_database() and application_name = 'posthorn shards'
          and query_start < ${from}::timestamptz + ${seconds} * interval '1 second'`,
      ([row]) => row!.late === 0
    )
  })
