/**
 * Which deliveries are in memory, from the moment they are read until their observation is recorded, so that reading one
 * again never sends it again. A read that is under way may still show what is recorded meanwhile: that is let go only
 * when the read is over.
 */
import type { Waiting } from "./Lane.ts"

export class Held {
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

  /** Gives what can be let go now. */
  readEnded(): ReadonlyArray<Waiting> {
    this.reading = false
    return this.recordedMeanwhile.splice(0)
  }

  /** True when it can be let go at once. */
  recorded(row: Waiting): boolean {
    if (this.reading) this.recordedMeanwhile.push(row)
    return !this.reading
  }
}
