/**
 * Two PostgreSQL servers on this machine, one following the other by streaming replication: acknowledged commits are on both
 * (`synchronous_standby_names`). The primary can be killed or stopped, the standby promoted, and the old primary made a
 * standby. Each keeps its port. Always the embedded PostgreSQL, durable as in production. The caller decides when to promote,
 * as Patroni or a cloud does in production.
 */
import { execFileSync } from "node:child_process"
import {
  appendFileSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedPostgres from "@posthorn/embedded-postgres/EmbeddedPostgres"
import * as Database from "@posthorn/persistence/client/Database"
import { migrate } from "@posthorn/persistence/operations/Migrator"
import { Effect, Exit, Redacted, Scope } from "effect"
import pg from "pg"
import { freePort } from "./FreePort.ts"
import { execute } from "./TestCluster.ts"
import { until } from "./Until.ts"

export interface ReplicatedCluster {
  /** The URL of both, for clients that find the one that accepts writes. */
  readonly url: string
  /** The URLs of the last primary, and of the other. */
  readonly primary: () => string
  readonly standby: () => string
  /** `kill -9` of the primary and all its processes, so that it can neither write nor close connections. */
  readonly kill: Effect.Effect<void>
  /** An orderly stop: connections are ended, and the standby gets everything first. */
  readonly stop: Effect.Effect<void>
  /** The standby accepts writes. */
  readonly promote: Effect.Effect<void>
  /** The other server follows it, from a fresh copy; from now on nothing is acknowledged without it. */
  readonly follow: Effect.Effect<void>
}

interface Server {
  readonly dataDir: string
  readonly url: string
  readonly port: number
  scope: Scope.CloseableScope
}

const clusterOf = (server: Pick<Server, "dataDir">) => join(server.dataDir, "postgres")

const ask = <A extends pg.QueryResultRow>(url: string, statement: string) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<A>(statement)).rows
    } finally {
      await client.end()
    }
  })

const holds = (url: string, question: string) =>
  Effect.orDie(
    until(
      ask<{ answer: boolean }>(url, `select ${question} as answer`),
      ([row]) => row?.answer === true,
      "1 minute"
    )
  )

/** The server may run as another user. */
const write = (cluster: string, name: string, text: string) => {
  const { gid, uid } = statSync(cluster)
  writeFileSync(join(cluster, name), text)
  chownSync(join(cluster, name), uid, gid)
}

/** A copy of a running server, as `pg_basebackup` makes it: with owners and modes, without logs and locks. */
const copy = (from: Server, to: string) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: from.url })
    await client.connect()
    try {
      await client.query("select pg_backup_start('copy', true)")
      rmSync(to, { recursive: true, force: true })
      // Files that disappear during copying are not part of the backup.
      execFileSync("sh", ["-c", 'cp -a "$1" "$2" 2>/dev/null || true', "sh", from.dataDir, to])
      const { rows } = await client.query<{ labelfile: string }>(
        "select labelfile from pg_backup_stop(false)"
      )
      for (const name of ["postmaster.pid", "postmaster.opts"])
        rmSync(join(to, "postgres", name), { force: true })
      write(join(to, "postgres"), "backup_label", rows[0]!.labelfile)
    } finally {
      await client.end()
    }
  })

const withPort = (text: string, port: number) => {
  const url = new URL(text)
  url.port = String(port)
  return url.href
}

/** Of two lines for one setting, the last counts. */
const followIn = (cluster: string, primary: URL) => {
  const { hostname, password, port, username } = primary
  const line = `host=${hostname} port=${port} user=${username} password=${password} application_name=standby`
  appendFileSync(
    join(cluster, "postgresql.auto.conf"),
    `primary_conninfo = '${line}'\nsynchronous_standby_names = ''\n`
  )
  write(cluster, "standby.signal", "")
}

const startAt = (dataDir: string, port: number) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const started = yield* Scope.extend(EmbeddedPostgres.start({ dataDir, port }), scope)
    return { dataDir, url: Redacted.value(started.url), port: started.port, scope } satisfies Server
  }).pipe(Effect.orDie)

const processOf = (server: Server) =>
  Number(readFileSync(join(clusterOf(server), "postmaster.pid"), "utf8").split("\n")[0])

const childrenOf = (pid: number) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return (
          readFileSync(`/proc/${name}/stat`, "utf8")
            .replace(/^.*\) /s, "")
            .split(" ")[1] === String(pid)
        )
      } catch {
        return false
      }
    })
    .map(Number)

/** Stops the postmaster first, so that it does not report the deaths of the others. */
const killServer = (server: Server) => {
  const postmaster = processOf(server)
  process.kill(postmaster, "SIGSTOP")
  for (const pid of [...childrenOf(postmaster), postmaster])
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It has already ended.
    }
}

const folders = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-own-pg-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** Migrated, and replicating. */
export const make: Effect.Effect<ReplicatedCluster, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* folders
  const first = yield* startAt(join(folder, "a"), yield* freePort)
  yield* Effect.provide(
    migrate,
    Database.layer({ url: Redacted.make(first.url), applicationName: "posthorn-migrate", maxConnections: 2 })
  )
  // Keeps the WAL that the copy still needs; also for tests that ask when something was committed.
  yield* execute(
    first.url,
    "alter system set wal_keep_size = '1GB'",
    "alter system set track_commit_timestamp = on"
  )
  yield* Scope.close(first.scope, Exit.void)
  let primary = yield* startAt(first.dataDir, first.port)
  const port = yield* freePort
  let standby: Server = {
    dataDir: join(folder, "b"),
    url: withPort(primary.url, port),
    port,
    scope: yield* Scope.make()
  }
  const close = Effect.suspend(() =>
    Effect.all([Scope.close(primary.scope, Exit.void), Scope.close(standby.scope, Exit.void)], {
      concurrency: "unbounded",
      discard: true
    })
  )
  yield* Effect.addFinalizer(() => close)
  const follow = Effect.gen(function* () {
    yield* Scope.close(standby.scope, Exit.void)
    yield* copy(primary, standby.dataDir)
    followIn(clusterOf(standby), new URL(primary.url))
    standby = yield* startAt(standby.dataDir, standby.port)
    yield* holds(primary.url, "exists (select from pg_stat_replication where state = 'streaming')")
    yield* execute(primary.url, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")
    yield* holds(primary.url, "exists (select from pg_stat_replication where sync_state = 'sync')")
  })
  yield* follow
  const url = primary.url.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`)
  return {
    url,
    primary: () => primary.url,
    standby: () => standby.url,
    kill: Effect.sync(() => killServer(primary)),
    stop: Effect.suspend(() => Scope.close(primary.scope, Exit.void)),
    promote: Effect.gen(function* () {
      yield* ask(standby.url, "select pg_promote()")
      const old = primary
      primary = standby
      standby = old
    }),
    follow
  }
}).pipe(Effect.orDie)
