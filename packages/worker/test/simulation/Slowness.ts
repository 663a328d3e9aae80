/**
 * What delays statements in a world: the database is slow, answers some of them seconds late, its tables are locked, and the
 * connection to a worker stalls. A statement sees the state at its beginning, and its answer comes later.
 */
import { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"
import type { FaultPlan } from "./FaultPlan.ts"
import type { Worker } from "./Shares.ts"
import type { Chance, VirtualTime } from "./VirtualTime.ts"

/** The tables that each statement reads or writes, as far as they are locked here. */
const TABLES: Readonly<Record<string, ReadonlyArray<string>>> = {
  deliveries: ["load", "record", "blocked", "deadLetter"],
  queue: ["due", "firstOfEndpoints", "nextDue", "dueOfEndpoints", "record", "blocked", "countClaims"]
}
/** These write, once they have their locks; the others have read by then. */
const WRITES = new Set(["record", "blocked", "deadLetter", "countClaims"])
/** `lock_timeout` of the statements that write, and of the connection. */
const WRITE_WAITS_MS = 500
const WAITS_MS = 5_000
const LONGEST_LOCK_MS = 20_000
/** Longer, and a worker is not sure of its shards any more. */
const LONGEST_STALL_MS = 2_900

export class Slowness {
  private readonly time: VirtualTime
  private readonly chance: Chance
  private readonly plan: FaultPlan
  private readonly lockedUntil = new Map<string, number>()
  private readonly stillUntil = new Map<Worker, number>()

  constructor(time: VirtualTime, chance: Chance, plan: FaultPlan) {
    this.time = time
    this.chance = chance
    this.plan = plan
  }

  lockTable(): void {
    const table = this.chance.oneOf(Object.keys(TABLES))
    this.lockedUntil.set(table, this.time.now + this.chance.magnitude(100, LONGEST_LOCK_MS))
  }

  stall(worker: Worker | undefined): void {
    if (worker !== undefined)
      this.stillUntil.set(worker, this.time.now + this.chance.magnitude(100, LONGEST_STALL_MS))
  }

  /** From the worker to the database, or back. */
  way(worker: Worker, troubled: boolean): Effect.Effect<void> {
    return Effect.suspend(() => {
      const late = troubled && this.chance.happens(0.01) ? this.chance.magnitude(100, 10_000) : 0
      const usual = this.chance.between(this.plan.quickestMs / 2, this.plan.slowestMs / 2)
      const still = Math.max(0, (this.stillUntil.get(worker) ?? 0) - this.time.now)
      return Effect.sleep(Math.max(usual + late, still))
    })
  }

  /** The answer once it has the lock; null when it has waited too long. */
  lockOf(name: string) {
    const tables = Object.keys(TABLES).filter((table) => TABLES[table]!.includes(name))
    const wait = () => Math.max(0, ...tables.map((table) => this.lockedUntil.get(table) ?? 0)) - this.time.now
    const [writes, most] = WRITES.has(name) ? [true, WRITE_WAITS_MS] : [false, WAITS_MS]
    return <A>(apply: () => A): Effect.Effect<{ readonly answer: A } | null> =>
      Effect.suspend(() => {
        const waiting = Math.max(0, wait())
        if (waiting > most) return Effect.as(Effect.sleep(most), null)
        if (waiting === 0 || !writes) return Effect.delay(Effect.succeed({ answer: apply() }), waiting)
        return Effect.delay(
          Effect.sync(() => ({ answer: apply() })),
          waiting
        )
      })
  }
}

export const lockNotAvailable = Effect.fail(
  new SqlError({
    cause: Object.assign(new Error("canceling statement"), { code: "55P03" }),
    message: "locked"
  })
)
