/**
 * Which worker owns which shard in a world: equal shares among the living workers, and the effects of deaths and mistakes.
 */
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Effect, type Scope } from "effect"
import type { Owner } from "../../src/ownership/Ownership.ts"
import type { Hearer } from "../../src/polling/Listener.ts"
import { SHARDS } from "./Facts.ts"
import type { Model } from "./Model.ts"
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

export class Shares {
  readonly workers: Array<Worker> = []
  private readonly time: VirtualTime
  private readonly model: Model
  private readonly owners = new Map<number, Worker | null>()

  /** A shard is taken over from a worker that did not give it back. */
  private readonly takenOver: (shard: number) => void

  /** A worker hands over a shard of which it has given something up. */
  private readonly gaveUp: () => void

  constructor(time: VirtualTime, model: Model, takenOver: (shard: number) => void, gaveUp: () => void) {
    this.time = time
    this.model = model
    this.takenOver = takenOver
    this.gaveUp = gaveUp
    for (let shard = 0; shard < SHARDS; shard++) this.owners.set(shard, null)
  }

  /** Takes everything from a worker that is taken for dead: its shards were not released. */
  abandon(worker: Worker): void {
    for (const shard of worker.shards) this.owners.set(shard, null)
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
    const before = this.model.shards.inDoubtUntil(shard)
    const { living } = this.model.shards
    for (const one of this.workers)
      if (one.alive) living.add(one)
      else living.delete(one)
    const until = this.model.shards.take(shard, worker)
    if (until !== null && until !== before) this.takenOver(shard)
    this.owners.set(shard, worker)
    worker.shards.add(shard)
    worker.owner!.taken(shard, until)
  }

  /** What each owner does now and then. */
  clearDoubt(): void {
    for (const [shard, owner] of this.owners) {
      if (this.model.shards.inDoubtUntil(shard) === null || !owner?.alive || !owner.certain) continue
      if (this.model.clearDoubt(shard, owner)) owner.owner!.cleared(shard)
    }
  }

  private move(shard: number, from: Worker): void {
    const { term } = from
    this.time.fork(
      Effect.map(from.owner!.handOver(shard), () => {
        if (!from.alive || from.term !== term || !from.shards.has(shard)) return
        from.shards.delete(shard)
        this.owners.set(shard, null)
        if (from.owner!.idle(shard)) this.model.shards.release(shard, from)
        else this.gaveUp()
        this.balance()
      }),
      "move"
    )
  }
}
