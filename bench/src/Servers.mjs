/**
 * The servers of a run. PostgreSQL: embedded, durable (fsync and synchronous_commit on, PostgreSQL's own defaults
 * otherwise), in a new folder; or the one BENCH_DATABASE_URL names. Redis: `redis-server` where it is installed, with an
 * append-only file synced each second, as BullMQ recommends.
 */
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { sharedFile } from "./Bundle.mjs"
import { commandOf, cpuOf, cpuOfTree, parentOf, until } from "./Machine.mjs"

export const withDatabase = (url, database) => {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

export const connect = async (connectionString) => {
  const client = new pg.Client({ connectionString })
  client.on("error", () => undefined)
  await client.connect()
  return client
}

const settings = [
  "alter system set max_wal_size = '4GB'",
  "alter system set checkpoint_timeout = '15min'",
  // Then `verdict` prints what each of our functions took, and how often it was called.
  ...(process.env.BENCH_FUNCTIONS ? ["alter system set track_functions = 'all'"] : []),
  "select pg_reload_conf()"
]

export const startPostgres = async () => {
  const given = process.env.BENCH_DATABASE_URL
  const folder = given ? null : mkdtempSync(join(process.env.BENCH_TMPDIR ?? tmpdir(), "posthorn-bench-"))
  const server = given
    ? { url: given, stop: async () => undefined }
    : await (await import(sharedFile)).startPostgres(folder)
  const admin = await connect(server.url)
  if (!given) for (const statement of settings) await admin.query(statement)
  const { rows } = await admin.query(
    `select pg_backend_pid() as pid, current_setting('server_version') as version, current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as "synchronousCommit", current_setting('shared_buffers') as "sharedBuffers"`
  )
  const { pid, ...about } = rows[0]
  const postmaster = /postgres/.test(commandOf(pid)) ? parentOf(pid) : null
  return {
    url: server.url,
    about,
    admin,
    /** Null when it runs elsewhere. */
    postmaster,
    cpu: () => (postmaster === null ? Number.NaN : cpuOfTree(postmaster)),
    wal: async () =>
      Number((await admin.query("select pg_current_wal_lsn() - '0/0'::pg_lsn as n")).rows[0].n),
    stop: async () => {
      await admin.end()
      await server.stop()
      if (folder) rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** `make(url)` fills a template; `clone` gives an empty database like it; `drop` forgets it. */
export const databases = async (postgres) => {
  const made = []
  let serial = 0
  const name = (kind) => {
    serial += 1
    return `posthorn_bench_${process.pid}_${kind}${serial}`
  }
  return {
    template: async (fill) => {
      const database = name("template")
      await postgres.admin.query(`create database ${database}`)
      made.push(database)
      await fill(withDatabase(postgres.url, database))
      return database
    },
    clone: async (template) => {
      const database = name("run")
      await postgres.admin.query(`create database ${database} template ${template}`)
      made.push(database)
      return { database, url: withDatabase(postgres.url, database) }
    },
    drop: (database) => postgres.admin.query(`drop database if exists ${database} with (force)`),
    dropAll: async () => {
      for (const database of made.reverse())
        await postgres.admin.query(`drop database if exists ${database} with (force)`)
    }
  }
}

export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

export const startRedis = async () => {
  const version = spawnSync("redis-server", ["--version"])
  if (version.error || version.status !== 0) return null
  const folder = mkdtempSync(join(tmpdir(), "posthorn-bench-redis-"))
  const port = await freePort()
  const options = {
    port,
    bind: "127.0.0.1",
    dir: folder,
    save: "",
    appendonly: "yes",
    appendfsync: "everysec"
  }
  const child = spawn(
    "redis-server",
    Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]),
    {
      stdio: "ignore"
    }
  )
  const { default: Redis } = await import("ioredis")
  const client = new Redis(port, "127.0.0.1", { lazyConnect: false, maxRetriesPerRequest: null })
  client.on("error", () => undefined)
  await until(async () => (await client.ping()) === "PONG", "redis-server answers")
  return {
    url: `redis://127.0.0.1:${port}`,
    version: /v=([\d.]+)/.exec(version.stdout.toString())?.[1],
    cpu: () => cpuOf(child.pid),
    empty: () => client.flushall(),
    stop: async () => {
      client.disconnect()
      child.kill("SIGTERM")
      await new Promise((resolve) => child.once("exit", resolve))
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
