/**
 * Faults of the whole database: it is restarted, or crashes; refuses writes, or its disk is full; isolates transactions more
 * strictly; a foreign session holds rows and waits for others; all sessions are dropped, as when a pooler is restarted.
 *
 * A fault that needs a running server is retried until it runs: two of them may overlap.
 */
import { Effect } from "effect"
import pg from "pg"
import { makeChance } from "../simulation/VirtualTime.ts"
import type { PostgresFault } from "./Actions.ts"
import type { Installation } from "./ChaosInstallation.ts"
import { type Disturbances, pause } from "./Disturbances.ts"

const WATCH_MS = 50
const OURS = "application_name like 'posthorn%' and pid <> pg_backend_pid()"
const TABLES = ["queue", "endpoints", "deliveries", "endpoints", "queue"]

const succeeds = (promise: Promise<unknown>) =>
  promise.then(
    () => true,
    () => false
  )

export const postgresFaults = (installation: Installation, disturbances: Disturbances) => {
  const { cluster, databaseUrl, disk, query } = installation

  const insist = async (...statements: ReadonlyArray<string>) => {
    for (const statement of statements) while (!(await succeeds(query(statement)))) await pause(WATCH_MS)
  }

  /** Also for open sessions, from their next transaction on. */
  const set = async (name: string, value: string, ms: number) => {
    await insist(`alter system set ${name} = ${value}`, "select pg_reload_conf()")
    await pause(ms)
    await insist(`alter system reset ${name}`, "select pg_reload_conf()")
  }

  /** Locks rows in an arbitrary order, one kind after another, and skips those for which it waits too long. */
  const foreignSession = async (ms: number, seed: number) => {
    const chance = makeChance(Math.floor(seed))
    const client = new pg.Client({ connectionString: databaseUrl, application_name: "foreign" })
    client.on("error", () => undefined)
    try {
      await client.connect()
      await client.query("begin")
      await client.query("set local lock_timeout = '5s'")
      for (const table of TABLES) {
        const limit = table === "endpoints" ? 2 : 20
        await client.query(`select 1 from posthorn.${table} order by random() limit ${limit} for update`)
        await pause((ms / TABLES.length) * (0.5 + chance.number()))
      }
      await client.query("rollback")
    } catch {
      // It was the victim of a deadlock, or its server is gone.
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  /** Killing a backend ends all connections: PostgreSQL restarts from its log. */
  const crash = async () => {
    const [victim] = await query<{ pid: number }>(`select pid from pg_stat_activity where ${OURS} limit 1`)
    if (victim === undefined) return
    try {
      process.kill(victim.pid, "SIGKILL")
    } catch {
      // It has ended by itself.
      return
    }
    await pause(WATCH_MS)
    await insist("select 1")
  }

  /** When the disk with its log is full, PostgreSQL stops and cannot start again. It is started once there is room. */
  const fill = async (ms: number) => {
    disk?.fill()
    await pause(ms)
    disk?.empty()
    if (!(await succeeds(query("select 1"))))
      await Effect.runPromise(Effect.zipRight(cluster.stop, cluster.start))
  }

  const carryOut = (fault: PostgresFault): Promise<void> => {
    switch (fault.kind) {
      case "restart":
        return Effect.runPromise(
          cluster.stop.pipe(Effect.zipRight(Effect.sleep(fault.down)), Effect.zipRight(cluster.start))
        )
      case "crash":
        return crash()
      case "disk full":
        return fill(fault.ms)
      case "read only":
        return set("default_transaction_read_only", "on", fault.ms)
      case "isolation":
        return set("default_transaction_isolation", `'${fault.level}'`, fault.ms)
      case "foreign session":
        return foreignSession(fault.ms, fault.seed)
      case "drop sessions":
        return insist(`select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`)
    }
  }

  const UP_AND_DOWN: ReadonlyArray<string> = ["restart", "crash", "disk full"]
  /** One after another: a server that is starting is neither stopped nor crashed. */
  let upAndDown: Promise<void> = Promise.resolve()
  return (fault: PostgresFault): Promise<void> => {
    const during = () => disturbances.while(() => carryOut(fault))
    if (!UP_AND_DOWN.includes(fault.kind)) return during()
    upAndDown = upAndDown.then(during)
    return upAndDown
  }
}
