/** Carries out what the plan says: faults of processes, lines and the database, and orders about endpoints. */
import { Effect } from "effect"
import type { DatabaseLine } from "../processes/DatabaseLine.ts"
import type { Disturbances } from "./Disturbances.ts"
import type { Installation } from "./Installation.ts"
import type { DatabaseFault, Fault, LineFault, Order, ProcessFault, Role } from "./Plan.ts"
import type { Tally } from "./Tally.ts"

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const WATCH_MS = 50
const POISONED_DOWN_MS = 300

/** The endpoints by number: their present ids, and how to make one anew. */
export interface Targets {
  readonly ids: Array<string>
  readonly urlOf: (manner: string) => string
  readonly create: (n: number) => Promise<void>
}

export class Faults {
  /** How many there were of each kind. */
  readonly done = new Map<string, number>()
  readonly running = new Set<Promise<unknown>>()
  private broken: unknown = null
  private database: Promise<void> = Promise.resolve()
  private readonly installation: Installation
  private readonly targets: Targets
  private readonly disturbances: Disturbances
  private readonly tally: Tally

  constructor(installation: Installation, targets: Targets, disturbances: Disturbances, tally: Tally) {
    this.installation = installation
    this.targets = targets
    this.disturbances = disturbances
    this.tally = tally
  }

  commit(fault: Fault): void {
    this.done.set(fault.kind, (this.done.get(fault.kind) ?? 0) + 1)
    if ("to" in fault) this.order(fault)
    else if (fault.kind === "restart" || fault.kind === "crash") this.hurtDatabase(fault)
    else if (fault.kind === "kill" || fault.kind === "end" || fault.kind === "freeze") this.hurtProcess(fault)
    else this.hurtLine(fault)
  }

  /** A worker is killed by what it sent. */
  poisoned(who: Role): void {
    this.disturb(0)
    this.tally.killed(who)
    this.installation.processes.get(who)!.end("SIGKILL", POISONED_DOWN_MS)
  }

  /** Everything that was begun is over, and every line is well. */
  async calm(): Promise<void> {
    await Promise.all(this.running)
    if (this.broken !== null) throw this.broken
    for (const line of this.installation.lines.values())
      await Effect.runPromise(Effect.zipRight(line.slowDown(0), line.lightUp))
  }

  private disturb(ms: number): void {
    const one = this.disturbances.begin()
    one.to += ms
  }

  /** What cannot be carried out is no fault of Posthorn's, and no run. */
  private keep(promise: Promise<unknown>): void {
    const one = promise.catch((error: unknown) => {
      this.broken = error
    })
    this.running.add(one)
    void one.finally(() => this.running.delete(one))
  }

  private hurtProcess(fault: ProcessFault): void {
    const process = this.installation.processes.get(fault.who)!
    this.disturb(fault.kind === "freeze" ? fault.ms : 0)
    if (fault.kind !== "freeze") this.tally.killed(fault.who)
    if (fault.kind === "freeze") process.freeze(fault.ms)
    else process.end(fault.kind === "kill" ? "SIGKILL" : "SIGTERM", fault.down)
  }

  private hurtLine(fault: LineFault): void {
    const line = this.installation.lines.get(fault.who)!
    const during = (ms: number, from: Effect.Effect<void>, to: Effect.Effect<void>) => {
      this.disturb(ms)
      this.keep(Effect.runPromise(from.pipe(Effect.zipRight(Effect.sleep(ms)), Effect.zipRight(to))))
    }
    if (fault.kind === "hold") during(fault.ms, line.goBlack, line.lightUp)
    else if (fault.kind === "delay") during(fault.ms, line.slowDown(fault.each), line.slowDown(0))
    else if (fault.kind === "lose") this.lose(line, fault.statement)
    else {
      this.disturb(0)
      Effect.runFork(fault.kind === "cut" ? line.cut : line.forget)
    }
  }

  /** It comes when the statement is made next. */
  private lose(line: DatabaseLine, statement: string): void {
    Effect.runFork(Effect.map(line.loseAnswerTo(statement), () => this.disturb(0)))
  }

  /** One after the other: what is being started is neither stopped nor crashed. */
  private hurtDatabase(fault: DatabaseFault): void {
    this.database = this.database.then(async () => {
      const disturbance = this.disturbances.begin()
      const watch = setInterval(() => {
        disturbance.to = Date.now()
      }, WATCH_MS)
      await (fault.kind === "restart" ? this.restart(fault.down) : this.crash())
      clearInterval(watch)
      disturbance.to = Date.now()
    })
    this.keep(this.database)
  }

  private restart(down: number): Promise<void> {
    const { cluster } = this.installation
    return Effect.runPromise(
      cluster.stop.pipe(Effect.zipRight(Effect.sleep(down)), Effect.zipRight(cluster.start))
    )
  }

  /** A backend that is killed takes all connections with it: PostgreSQL starts anew from its log. */
  private async crash(): Promise<void> {
    const { query } = this.installation
    const [victim] = await query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name like 'posthorn%' and pid <> pg_backend_pid() limit 1"
    )
    if (victim === undefined) return
    try {
      process.kill(victim.pid, "SIGKILL")
    } catch {
      // It has ended by itself.
      return
    }
    const back = async (): Promise<void> => {
      await pause(WATCH_MS)
      await query("select 1").catch(back)
    }
    await back()
  }

  private order(order: Order): void {
    const { call } = this.installation
    const { create, ids, urlOf } = this.targets
    const path = `/webhooks/${ids[order.to]}`
    const patch = (change: object) => call("PATCH", path, change)
    const carryOut = async () => {
      if (order.kind === "rotate") await call("POST", `${path}/rotate-secret`)
      else if (order.kind === "enable") await patch({ enabled: true })
      else if (order.kind === "repoint") await patch({ url: urlOf(order.manner) })
      else if (order.kind === "delete") {
        await call("DELETE", path)
        await create(order.to)
      } else {
        await patch({ enabled: false })
        await pause(order.ms)
        await patch({ enabled: true })
      }
    }
    this.keep(carryOut())
  }
}
