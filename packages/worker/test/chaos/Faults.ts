/** Carries out what the plan says: faults of processes, of their clocks and lines and of the database, and people's orders. */
import { Effect } from "effect"
import type { DatabaseLine } from "../processes/DatabaseLine.ts"
import type {
  ClockFault,
  Fault,
  LineFault,
  Order,
  ProcessFault,
  ReplayOrder,
  Role,
  SessionOrder,
  TidyOrder
} from "./Acts.ts"
import type { Disturbances } from "./Disturbances.ts"
import type { Installation } from "./Installation.ts"
import { SLUG } from "./Processes.ts"
import { Replaying } from "./Replaying.ts"
import type { Tally } from "./Tally.ts"
import { Tidying } from "./Tidying.ts"
import { Visits } from "./Visits.ts"
import { Weather, type Fault as WeatherAct } from "./Weather.ts"

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const POISONED_DOWN_MS = 300

/** The endpoints by number: their present ids, and how to make one anew. */
export interface Targets {
  readonly ids: Array<string>
  readonly urlOf: (manner: string) => string
  readonly create: (n: number) => Promise<void>
}

const isOfProcess = (fault: Fault): fault is ProcessFault => ["kill", "end", "freeze"].includes(fault.kind)
const isOfLine = (fault: Fault): fault is LineFault =>
  ["hold", "delay", "cut", "forget", "lose"].includes(fault.kind)

export class Faults {
  /** How many there were of each kind. */
  readonly done = new Map<string, number>()
  readonly running = new Set<Promise<unknown>>()
  private broken: unknown = null
  private readonly installation: Installation
  private readonly targets: Targets
  private readonly disturbances: Disturbances
  private readonly tally: Tally
  readonly replaying: Replaying
  readonly tidying: Tidying
  readonly visits: Visits
  private readonly weather: Weather

  constructor(installation: Installation, targets: Targets, disturbances: Disturbances, tally: Tally) {
    this.installation = installation
    this.targets = targets
    this.disturbances = disturbances
    this.tally = tally
    const { call, databaseUrl, origins } = installation
    this.replaying = new Replaying(call, (n) => targets.ids[n]!)
    this.tidying = new Tidying(databaseUrl)
    const servers = [...origins].flatMap(([role, origin]) => (role.startsWith("server") ? [origin] : []))
    this.visits = new Visits(SLUG, servers, call)
    this.weather = new Weather(installation, disturbances)
  }

  commit(fault: Fault): void {
    if (fault.kind === "disk full" && this.installation.disk === null) return
    this.done.set(fault.kind, (this.done.get(fault.kind) ?? 0) + 1)
    if ("to" in fault) this.order(fault)
    else if (fault.kind === "clock") this.setClock(fault)
    else if (isOfProcess(fault)) this.hurtProcess(fault)
    else if (isOfLine(fault)) this.hurtLine(fault)
    else this.keep(this.carryOut(fault))
  }

  private carryOut(act: ReplayOrder | SessionOrder | TidyOrder | WeatherAct): Promise<void> {
    if (act.kind === "replay") return this.replaying.order(act)
    if (act.kind === "session") return this.visits.visit(act)
    if (act.kind === "tidy") return this.tidying.tidy(act.keptMs)
    return this.weather.befall(act)
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

  /** A clock that is set is a disturbance when it is set, and when it is put right. */
  private setClock({ ms, offMs, who }: ClockFault): void {
    const { clocks, processes } = this.installation
    const process = processes.get(who)!
    const set = (name: string, off: number) => {
      this.disturb(0)
      if (process.setClock(name, off)) clocks.set(name, off)
    }
    const { name } = process
    set(name, offMs)
    this.keep(pause(ms).then(() => set(name, 0)))
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
