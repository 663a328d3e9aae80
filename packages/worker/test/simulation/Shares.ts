/**
 * Which worker owns which shard in a world: equal shares among the living workers, and the effects of deaths and mistakes.
 */
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Effect, type Scope } from "effect"
import type { Owner } from "../../src/ownership/Ownership.ts"
import type { Hearer } from "../../src/polling/Listener.ts"
import { SHARDS } from "./Facts.ts"
import type { VirtualTime } from "./VirtualTime.ts"

export interface Worker {
  readonly id: number
  alive: boolean
  /** Believes it owns its shards whatever the others decided. */
  deluded: boolean
  certain: boolean
  /** The number of times that its shards were taken from it. */
  term: number
  owner: Owner | null
  hearer: Hearer | null
  locks: SleepLocks
  readonly shards: Set<number>
  /** Whether it hears notifications. */
  hears: boolean
  /** By how many milliseconds its wall clock is off. */
  clockOff: number
  readonly scope: Scope.CloseableScope
}

/** As `posthorn.outlives_its_lease`: an owner may start attempts for so long after its shard was taken over. */
export const OUTLIVES_ITS_LEASE_MS = 4_500

export class Shares {
  readonly workers: Array<Worker> = []
  private readonly time: VirtualTime
  private readonly owners = new Map<number, Worker | null>()
  /** The owner of a shard that was not given back, and the doubt passed to its last taker; as in `posthorn.shards`. */
  private readonly unclean = new Map<number, Worker>()
  private readonly inDoubtUntil = new Map<number, number>()

  /** A shard is taken over from a worker that did not give it back. */
  private readonly takenOver: (shard: number) => void

  constructor(time: VirtualTime, takenOver: (shard: number) => void) {
    this.time = time
    this.takenOver = takenOver
    for (let shard = 0; shard < SHARDS; shard++) this.owners.set(shard, null)
  }

  /** In microseconds; undefined when the last owner gave it back. */
  inDoubtUntilOf(shard: number): number | undefined {
    return this.inDoubtUntil.get(shard)
  }

  /** Takes everything from a worker that is taken for dead: its shards were not given back cleanly. */
  abandon(worker: Worker): void {
    for (const shard of worker.shards) {
      this.owners.set(shard, null)
      this.unclean.set(shard, worker)
    }
    worker.shards.clear()
    worker.term += 1
  }

  /** Tells a worker that was taken for dead what it has lost. */
  undeceive(worker: Worker): void {
    for (let shard = 0; shard < SHARDS; shard++) if (!worker.shards.has(shard)) worker.owner?.lost(shard)
    worker.deluded = false
    worker.certain = true
    this.balance()
  }

  /** All workers lose all shards at once, and know it. */
  loseAll(): void {
    for (const worker of this.workers) {
      if (!worker.alive || worker.owner === null) continue
      const lost = [...worker.shards]
      this.abandon(worker)
      for (const shard of lost) worker.owner.lost(shard)
      worker.certain = false
    }
  }

  /** Gives shards without an owner to the workers with the fewest, and takes one from a worker with too many. */
  balance(): void {
    const present = this.workers.filter(({ alive, certain, owner }) => alive && certain && owner !== null)
    if (present.length === 0) return
    const poorest = () => present.reduce((a, b) => (b.shards.size < a.shards.size ? b : a))
    for (const [shard, owner] of this.owners) if (owner === null) this.give(shard, poorest())
    const richest = present.reduce((a, b) => (b.shards.size > a.shards.size ? b : a))
    if (richest.shards.size - poorest().shards.size > 1) this.move([...richest.shards][0]!, richest)
  }

  private give(shard: number, worker: Worker): void {
    const last = this.unclean.get(shard)
    if (last === undefined) this.inDoubtUntil.delete(shard)
    else if (last !== worker) {
      this.inDoubtUntil.set(shard, this.time.now * 1000)
      this.takenOver(shard)
    }
    this.unclean.delete(shard)
    this.owners.set(shard, worker)
    worker.shards.add(shard)
    worker.owner!.taken(shard, this.inDoubtUntil.get(shard) ?? null)
  }

  /** What each owner does now and then: `left` is whether something that was due by then still waits. */
  clearDoubt(left: (shard: number, until: number) => boolean): void {
    for (const [shard, owner] of this.owners) {
      const until = this.inDoubtUntil.get(shard)
      if (until === undefined || !owner?.alive || !owner.certain || left(shard, until)) continue
      if (this.time.now < until / 1_000 + OUTLIVES_ITS_LEASE_MS) continue
      this.inDoubtUntil.delete(shard)
      owner.owner!.cleared(shard)
    }
  }

  private move(shard: number, from: Worker): void {
    const { term } = from
    this.time.fork(
      Effect.map(from.owner!.drained(shard), () => {
        if (!from.alive || from.term !== term || !from.shards.has(shard)) return
        from.shards.delete(shard)
        this.owners.set(shard, null)
        if (!from.owner!.idle(shard)) this.unclean.set(shard, from)
        this.balance()
      }),
      "move"
    )
  }
}
