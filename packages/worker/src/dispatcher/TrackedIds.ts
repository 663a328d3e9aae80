/**
 * The deliveries that are in memory, from being read until their observation is recorded. While one is held, reading it again
 * never sends it again. A read under way may still return a delivery that is recorded meanwhile, so such a delivery is released
 * only when that read has ended.
 */
import type { Waiting } from "./Lane.ts"

export class TrackedIds {
  private readonly ids = new Set<string>()
  private reading = false
  private recordedMeanwhile: Array<Waiting> = []

  has(deliveryId: string): boolean {
    return this.ids.has(deliveryId)
  }

  add(deliveryId: string): void {
    this.ids.add(deliveryId)
  }

  /** Whether it was held. */
  delete(deliveryId: string): boolean {
    return this.ids.delete(deliveryId)
  }

  readStarted(): void {
    this.reading = true
  }

  /** Returns the deliveries that can be released now. */
  readEnded(): ReadonlyArray<Waiting> {
    this.reading = false
    return this.recordedMeanwhile.splice(0)
  }

  /** True if it can be released at once. */
  recorded(row: Waiting): boolean {
    if (this.reading) this.recordedMeanwhile.push(row)
    return !this.reading
  }
}
