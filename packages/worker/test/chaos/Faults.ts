/** Carries out the plan: faults of processes, clocks, connections and the database, and people's orders. */
import { Effect } from "effect"
import type { ClockFault, Fault, LineFault, Order, ProcessFault, Role } from "./Actions.ts"
import type { Installation } from "./ChaosInstallation.ts"
import { type Disturbances, pause } from "./Disturbances.ts"
import type { MeterSums } from "./MeterSums.ts"
import { postgresFaults } from "./PostgresFaults.ts"
import { SLUG } from "./Processes.ts"
import { makeReplayOrders } from "./ReplayOrders.ts"
import { type RetentionRun, retain } from "./RetentionRuns.ts"
import { makeSessions } from "./Sessions.ts"

const POISONED_DOWN_MS = 300

/** The endpoints by number: their current ids, and how to create one again. */
export interface Targets {
  readonly ids: Array<string>
  readonly urlOf: (manner: string) => string
  readonly create: (n: number) => Promise<void>
}

export type Faults = ReturnType<typeof makeFaults>

export const makeFaults = (
  installation: Installation,
  { create, ids, urlOf }: Targets,
  disturbances: Disturbances,
  sums: MeterSums
) => {
  const { call, clocks, databaseUrl, lines, origins, processes } = installation
  const servers = [...origins].flatMap(([role, origin]) => (role.startsWith("server") ? [origin] : []))
  /** The number of each kind. */
  const done = new Map<string, number>()
  const running = new Set<Promise<unknown>>()
  const replays = makeReplayOrders(call, (n) => ids[n]!)
  const sessions = makeSessions(SLUG, servers, call)
  const retention: Array<RetentionRun> = []
  const hurtPostgres = postgresFaults(installation, disturbances)
  let broken: unknown = null

  const disturb = (ms = 0) => {
    disturbances.begin().to += ms
  }

  /** A fault that cannot be carried out is not Posthorn's failure, so the run is invalid. */
  const keep = (promise: Promise<unknown>) => {
    const one = promise.catch((error: unknown) => {
      broken = error
    })
    running.add(one)
    void one.finally(() => running.delete(one))
  }

  const hurtProcess = (fault: ProcessFault) => {
    const process = processes.get(fault.who)!
    disturb(fault.kind === "freeze" ? fault.ms : 0)
    if (fault.kind === "freeze") return process.freeze(fault.ms)
    sums.killed(fault.who)
    process.end(fault.kind === "kill" ? "SIGKILL" : "SIGTERM", fault.down)
  }

  const hurtLine = (fault: LineFault) => {
    const line = lines.get(fault.who)!
    const during = (ms: number, from: Effect.Effect<void>, to: Effect.Effect<void>) => {
      disturb(ms)
      keep(Effect.runPromise(from.pipe(Effect.zipRight(Effect.sleep(ms)), Effect.zipRight(to))))
    }
    if (fault.kind === "hold") during(fault.ms, line.goBlack, line.lightUp)
    else if (fault.kind === "delay") during(fault.ms, line.slowDown(fault.each), line.slowDown(0))
    // Happens at the next such statement.
    else if (fault.kind === "lose")
      Effect.runFork(Effect.map(line.loseAnswerTo(fault.statement), () => disturb()))
    else {
      disturb()
      Effect.runFork(fault.kind === "cut" ? line.cut : line.forget)
    }
  }

  /** A disturbance as long as the clock is wrong, because the worker may have stopped. */
  const hurtClock = async ({ ms, offMs, who }: ClockFault) => {
    const process = processes.get(who)!
    const { name } = process
    const set = (off: number, during: number) => {
      disturb(during)
      if (process.setClock(name, off)) clocks.set(name, off)
    }
    set(offMs, ms)
    await pause(ms)
    set(0, 0)
  }

  const order = async (one: Order) => {
    const path = `/webhooks/${ids[one.to]}`
    const patch = (change: object) => call("PATCH", path, change)
    if (one.kind === "rotate") await call("POST", `${path}/rotate-secret`)
    else if (one.kind === "enable") await patch({ enabled: true })
    else if (one.kind === "repoint") await patch({ url: urlOf(one.manner) })
    else if (one.kind === "repolicy") await patch({ policy: one.policy })
    else if (one.kind === "delete") {
      await call("DELETE", path)
      await create(one.to)
    } else {
      await patch({ enabled: false })
      await pause(one.ms)
      await patch({ enabled: true })
    }
  }

  const carryOut = async (fault: Fault): Promise<unknown> => {
    if ("to" in fault) return order(fault)
    switch (fault.kind) {
      case "clock":
        return hurtClock(fault)
      case "replay":
        return replays.order(fault)
      case "session":
        return sessions.order(fault)
      case "retention":
        return retention.push(await retain(databaseUrl, fault.keptMs))
      case "kill":
      case "end":
      case "freeze":
        return hurtProcess(fault)
      case "hold":
      case "delay":
      case "cut":
      case "forget":
      case "lose":
        return hurtLine(fault)
      default:
        return hurtPostgres(fault)
    }
  }

  return {
    done,
    replays,
    sessions,
    retention,
    commit: (fault: Fault) => {
      if (fault.kind === "disk full" && installation.disk === null) return
      done.set(fault.kind, (done.get(fault.kind) ?? 0) + 1)
      keep(carryOut(fault))
    },
    /** Kills a worker by the delivery that it sent. */
    poisoned: (who: Role) => {
      disturb()
      sums.killed(who)
      processes.get(who)!.end("SIGKILL", POISONED_DOWN_MS)
    },
    /** Waits until everything that was begun is over, and every connection works. */
    calm: async () => {
      await Promise.all(running)
      if (broken !== null) throw broken
      for (const line of lines.values())
        await Effect.runPromise(Effect.zipRight(line.slowDown(0), line.lightUp))
    }
  }
}
