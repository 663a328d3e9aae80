/**
 * What befalls the database as a whole: it is restarted, or crashes; takes no writes, or has no room for them; isolates its
 * transactions more than anybody asked for; somebody else's transaction holds rows and waits for others; all sessions are
 * dropped, as a pooler that is restarted does.
 *
 * What needs the server up is asked for until it is: two of these may come together.
 */
import { Effect } from "effect"
import pg from "pg"
import { makeChance } from "../simulation/VirtualTime.ts"
import type { Weather as Act, DatabaseFault } from "./Acts.ts"
import type { Disturbances } from "./Disturbances.ts"
import type { Installation } from "./Installation.ts"

const WATCH_MS = 50
const OURS = "application_name like 'posthorn%' and pid <> pg_backend_pid()"

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export type Fault = Act | DatabaseFault

export class Weather {
  /** One after the other: what is being started is neither stopped nor crashed. */
  private upAndDown: Promise<void> = Promise.resolve()
  private readonly installation: Installation
  private readonly disturbances: Disturbances

  constructor(installation: Installation, disturbances: Disturbances) {
    this.installation = installation
    this.disturbances = disturbances
  }

  async befall(fault: Fault): Promise<void> {
    if (fault.kind === "restart" || fault.kind === "crash" || fault.kind === "disk full") {
      this.upAndDown = this.upAndDown.then(() => this.during(() => this.hurt(fault)))
      return this.upAndDown
    }
    return this.during(() => this.trouble(fault))
  }

  /** The disturbance lasts as long as this does. */
  private async during(act: () => Promise<void>): Promise<void> {
    const disturbance = this.disturbances.begin()
    const watch = setInterval(() => {
      disturbance.to = Date.now()
    }, WATCH_MS)
    await act().finally(() => clearInterval(watch))
    disturbance.to = Date.now()
  }

  private hurt(fault: Extract<Fault, { kind: "restart" | "crash" | "disk full" }>): Promise<void> {
    if (fault.kind === "restart") return this.restart(fault.down)
    return fault.kind === "crash" ? this.crash() : this.fill(fault.ms)
  }

  private trouble(fault: Exclude<Fault, { kind: "restart" | "crash" | "disk full" }>): Promise<void> {
    switch (fault.kind) {
      case "read only":
        return this.set("default_transaction_read_only", "on", fault.ms)
      case "isolation":
        return this.set("default_transaction_isolation", `'${fault.level}'`, fault.ms)
      case "stranger":
        return this.stranger(fault.ms, fault.seed)
      case "drop sessions":
        return this.insist(`select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`)
    }
  }

  private async insist(...statements: ReadonlyArray<string>): Promise<void> {
    const { query } = this.installation
    for (const statement of statements)
      for (;;) {
        const done = await query(statement).then(
          () => true,
          () => false
        )
        if (done) break
        await pause(WATCH_MS)
      }
  }

  /** For sessions that are open, too, from their next transaction on. */
  private async set(name: string, value: string, ms: number): Promise<void> {
    await this.insist(`alter system set ${name} = ${value}`, "select pg_reload_conf()")
    await pause(ms)
    await this.insist(`alter system reset ${name}`, "select pg_reload_conf()")
  }

  /** Locks rows in an order that is nobody's, one kind after the other. What it waits for too long it goes without. */
  private async stranger(ms: number, seed: number): Promise<void> {
    const chance = makeChance(Math.floor(seed))
    const client = new pg.Client({
      connectionString: this.installation.databaseUrl,
      application_name: "stranger"
    })
    client.on("error", () => undefined)
    const tables = ["queue", "endpoints", "deliveries", "endpoints", "queue"]
    try {
      await client.connect()
      await client.query("begin")
      await client.query("set local lock_timeout = '5s'")
      for (const table of tables) {
        const limit = table === "endpoints" ? 2 : 20
        await client.query(`select 1 from posthorn.${table} order by random() limit ${limit} for update`)
        await pause((ms / tables.length) * (0.5 + chance.number()))
      }
      await client.query("rollback")
    } catch {
      // The victim of a deadlock, or gone with the server.
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  private restart(down: number): Promise<void> {
    const { cluster } = this.installation
    return Effect.runPromise(
      cluster.stop.pipe(Effect.zipRight(Effect.sleep(down)), Effect.zipRight(cluster.start))
    )
  }

  /** A backend that is killed takes all connections with it: PostgreSQL starts anew from its log. */
  private async crash(): Promise<void> {
    const [victim] = await this.installation.query<{ pid: number }>(
      `select pid from pg_stat_activity where ${OURS} limit 1`
    )
    if (victim === undefined) return
    try {
      process.kill(victim.pid, "SIGKILL")
    } catch {
      // It has ended by itself.
      return
    }
    await pause(WATCH_MS)
    await this.insist("select 1")
  }

  /** Where the log has no room, PostgreSQL goes down, and cannot come back by itself. Whoever made room starts it. */
  private async fill(ms: number): Promise<void> {
    const { cluster, disk, query } = this.installation
    disk?.fill()
    await pause(ms)
    disk?.empty()
    const isUp = await query("select 1").then(
      () => true,
      () => false
    )
    if (!isUp) await Effect.runPromise(Effect.zipRight(cluster.stop, cluster.start))
  }
}
