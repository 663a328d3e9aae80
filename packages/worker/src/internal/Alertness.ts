/**
 * How soon a worker looks for work again, and whether publishers have to wake it.
 *
 * Awake, it looks by itself: each millisecond at first, then with pauses that grow with the quiet. Each look tells which
 * transactions have published and not committed yet. While they are young, and once when they have ended, the next look goes
 * back to before they began to publish: so what commits late is found by whoever looks, and nobody is notified.
 *
 * After a quiet moment it sleeps: it takes the sleep locks of its shards (`posthorn.wake` in migrations/0002), looks once
 * more, and then waits. A publisher that finds the lock taken notifies. A shard with a transaction that is still open is
 * not to be had, and is looked at every `openPollMs` until that one ends.
 *
 * All of this only saves time; the poll and the sweep make it correct. Source: docs/adr/0015-publishing.md.
 */
import type { Lookout, Open } from "@posthorn/persistence/Queue"
import type { SleepLocks } from "@posthorn/persistence/SleepLocks"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { type Clock, Effect } from "effect"
import type { TuningValues } from "../Tuning.ts"

/** Due times are cut to the millisecond: a row may be due so much before its transaction was seen. */
const CUT = 1_000

/** It was open in a shard before that was looked at for the first time: nobody knows since when. */
const ANY_TIME = Number.NEGATIVE_INFINITY

/**
 * The moment to go back to, as before that nothing is new; or there is something new and nobody knows since when. `soon`: behind
 * that there may be something new before long; to go back there at once is sooner, and costs reading again what came since.
 */
export interface Looked {
  readonly back: number
  readonly soon: number
  readonly anyTime: boolean
}

export class Alertness {
  private readonly tuning: TuningValues
  private readonly clock: Clock.Clock
  private locks: SleepLocks | null = null
  private readonly asleep = new Set<number>()
  private roused = false
  private quietSince = 0
  /** Transactions that were open at the last look, and since when they may have published. */
  private open = new Map<string, number>()
  private openShards: ReadonlySet<number> = new Set()
  /** Some were open for so long that looks do not go back for them any more. */
  hasOld = false

  constructor(tuning: TuningValues, clock: Clock.Clock) {
    this.tuning = tuning
    this.clock = clock
  }

  listening(locks: SleepLocks): void {
    this.locks = locks
    this.asleep.clear()
    this.rouse()
  }

  /** The locks went with their connection. */
  deaf(): void {
    this.locks = null
    this.asleep.clear()
  }

  /** Something happened: be awake. */
  rouse(): void {
    this.roused = true
    this.stir()
  }

  /** Something was found: look again soon. */
  stir(): void {
    this.quietSince = elapsed(this.clock)
  }

  get isRoused(): boolean {
    return this.roused
  }

  /** Lets publishers know that it is awake. */
  readonly wakeUp: Effect.Effect<void> = Effect.suspend(() => {
    if (!this.roused) return Effect.void
    this.roused = false
    this.asleep.clear()
    return this.locks === null ? Effect.void : Effect.ignore(this.locks.giveBack)
  })

  /** Takes in what a look at this moment saw. `before`: the moment of the look before it; `isNew`: shards without one. */
  looked(
    open: ReadonlyArray<Open>,
    moment: number,
    before: number,
    isNew: (shard: number) => boolean
  ): Looked {
    const still = new Map<string, number>()
    for (const { shard, transaction } of open) {
      const known = still.get(transaction) ?? this.open.get(transaction) ?? before - CUT
      still.set(transaction, isNew(shard) ? ANY_TIME : Math.min(known, moment))
    }
    const ended = Array.from(this.open).filter(([transaction]) => !still.has(transaction))
    if (ended.length > 0 || still.size > this.open.size) this.stir()
    this.open = still
    this.openShards = new Set(open.map(({ shard }) => shard))
    const since = ended.map(([, moment]) => moment).filter((moment) => moment !== ANY_TIME)
    // The next look may find them ended, and shows what they made at once. Not for long: it passes all that came since.
    const young = Array.from(still.values()).filter((since) => since > moment - this.tuning.restMs * 1_000)
    this.hasOld = young.length < still.size
    const back = Math.min(moment - CUT, ...since)
    return { back, soon: Math.min(back, ...young), anyTime: since.length < ended.length }
  }

  /** Whether it has just fallen asleep, for some shards at least: then it has to look once more. */
  fallAsleep(shards: ReadonlyArray<number>): Effect.Effect<boolean> {
    const { locks } = this
    if (locks === null || this.roused || this.quiet < this.tuning.restMs) return Effect.succeed(false)
    const wanted = shards.filter((shard) => !this.asleep.has(shard) && !this.openShards.has(shard))
    if (wanted.length === 0) return Effect.succeed(false)
    return locks.take(wanted).pipe(
      Effect.map((taken) => {
        // The connection broke meanwhile, and the locks with it.
        if (this.locks !== locks) return false
        for (const shard of taken) this.asleep.add(shard)
        return taken.length > 0
      }),
      Effect.catchAll(() => {
        this.rouse()
        return Effect.succeed(false)
      })
    )
  }

  /** How the next look goes on until it finds something; null when it is to look once. */
  lookout(shards: ReadonlyArray<number>): Pick<Lookout, "patienceMs" | "pauseMs"> | null {
    const { alertMs, lookoutMs, openPollMs, restMs } = this.tuning
    if (this.locks === null || this.quiet >= restMs || this.sleeps(shards)) return null
    const patienceMs = Math.min(Math.max(lookoutMs, Math.ceil(this.quiet / 2)), openPollMs)
    return { patienceMs, pauseMs: Math.max(alertMs, Math.floor(patienceMs / 10)) }
  }

  /** The longest pause before the next look, when that is to look once. */
  pause(shards: ReadonlyArray<number>): number {
    const { alertMs, deafPollMs, openPollMs, pollMs } = this.tuning
    if (this.locks === null) return deafPollMs
    if (this.sleeps(shards)) return pollMs
    return Math.min(Math.max(alertMs, Math.ceil(this.quiet / 2)), openPollMs)
  }

  private sleeps(shards: ReadonlyArray<number>): boolean {
    return !this.roused && shards.every((shard) => this.asleep.has(shard))
  }

  private get quiet(): number {
    return elapsed(this.clock) - this.quietSince
  }
}
