/**
 * The ids of deliveries in memory: reading a tracked one never sends it again. A read under way may return a delivery that is
 * recorded meanwhile, so its id stays until that read has ended.
 */
import type { Lane, Waiting } from "./Lane.ts"

export class TrackedIds {
  private readonly ids = new Set<string>()
  private readonly byShard = new Map<number, number>()
  private reading = false
  private afterReading: Array<Waiting> = []
  private readonly untracked: (lane: Lane) => void

  constructor(untracked: (lane: Lane) => void) {
    this.untracked = untracked
  }

  has(deliveryId: string): boolean {
    return this.ids.has(deliveryId)
  }

  add(row: Waiting): void {
    this.ids.add(row.deliveryId)
    row.lane.tracked++
    this.count(row, 1)
  }

  /** Deliveries of the shard in memory. Once it is lost: those in flight or not recorded yet. */
  of(shard: number): number {
    return this.byShard.get(shard) ?? 0
  }

  private count({ shard }: Waiting, by: 1 | -1): void {
    this.byShard.set(shard, this.of(shard) + by)
  }

  removeAfterReading(row: Waiting): void {
    if (this.reading) this.afterReading.push(row)
    else this.remove(row)
  }

  remove(row: Waiting): void {
    if (!this.ids.delete(row.deliveryId)) return
    row.lane.tracked--
    this.count(row, -1)
    this.untracked(row.lane)
  }

  readStarted(): void {
    this.reading = true
  }

  readEnded(): void {
    this.reading = false
    for (const row of this.afterReading.splice(0)) this.remove(row)
  }
}
