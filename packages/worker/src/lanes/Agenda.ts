/**
 * What the Reader is to look at next: from where on, and by when. Whoever learns of something says it here. Moments are
 * microseconds by the database's clock.
 */
import { Signal } from "../internal/Signal.ts"

const NEVER = Number.POSITIVE_INFINITY

export class Agenda {
  readonly wake = new Signal()
  private backTo = NEVER
  /** The earliest row that was announced during this read: it may be committed later than the read looked, and due before. */
  private expected = NEVER
  /** When the next known row becomes due; null when it is not known. */
  private nextDue: number | null = null
  /** Up to when the last read looked, by the database's clock and by ours. */
  horizon = 0
  private horizonAt = 0
  private changed = false

  /** There is something since this moment. */
  goBackTo(moment: number): void {
    this.backTo = Math.min(this.backTo, moment)
    this.wake.raise()
  }

  /** A row will be due then. */
  expect(due: number): void {
    this.expected = Math.min(this.expected, due)
    if (due <= this.horizon) this.goBackTo(due)
    else if (this.nextDue !== null && due < this.nextDue) {
      this.nextDue = due
      this.wake.raise()
    }
  }

  /** A shard was taken, or lost. */
  shardsChanged(): void {
    this.changed = true
    this.nextDue = null
    this.wake.raise()
  }

  /** Whether that has happened since somebody asked. */
  haveShardsChanged(): boolean {
    const { changed } = this
    this.changed = false
    return changed
  }

  /** So far back looks whoever may have missed something, before the sweep finds it. */
  since(lookBackMs: number): number {
    return this.horizon === 0 ? NEVER : this.horizon - lookBackMs * 1000
  }

  /** A read begins, and is told to where it goes back: not later than `atLatest`; infinity for nowhere. */
  begin(atLatest: number): number {
    const to = Math.min(this.backTo, atLatest)
    this.backTo = NEVER
    this.expected = NEVER
    return to
  }

  /** The read has looked up to `horizon`; the next one goes back to `back`. */
  looked(horizon: number, back: number, now: number): void {
    this.backTo = Math.min(this.backTo, back)
    if (this.expected <= horizon) this.goBackTo(this.expected)
    this.horizon = horizon
    this.horizonAt = now
    if (this.nextDue !== null && this.nextDue <= horizon) this.nextDue = null
  }

  get knowsNextDue(): boolean {
    return this.nextDue !== null
  }

  /** Null: there is no row that becomes due. */
  foundNextDue(due: number | null): void {
    this.nextDue = due ?? NEVER
  }

  /** In milliseconds; infinity when nothing is known. */
  untilDue(now: number): number {
    return this.nextDue === null ? NEVER : (this.nextDue - this.horizon) / 1000 - (now - this.horizonAt)
  }
}
