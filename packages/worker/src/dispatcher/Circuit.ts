/**
 * The circuit breaker of one lane (domain's Probing.ts has its numbers).
 *
 *    closed ── three attempts in a row were not delivered ──► open ── the pause is over ──► half-open
 *       ▲                                                      ▲                               │
 *       │                                                      └── the trial was not delivered ┤
 *       └───────────────────────── an attempt was delivered ───────────────────────────────────┘
 *
 * Open: no attempt starts. Half-open: one attempt at a time, the trial. A test send waits for neither: it is itself a trial.
 * Users read "probing" of a lane whose circuit is not closed.
 */
import { PROBES_AFTER, pauseUnits } from "@posthorn/domain/Probing"

/** A time for which the circuit is open. */
export interface Pause {
  /** Which of the circuit's pauses this is. */
  readonly number: number
  /** In units of the retry delay. */
  readonly units: number
}

export class Circuit<Row extends { readonly atOnce: boolean }> {
  /** Attempts in a row that were not delivered; null until the database or an attempt of this worker has shown it. */
  failures: number | null = null
  isOpen = false
  /** How often its endpoint was changed while the lane was in memory. */
  resets = 0
  /** The delivery that was picked last, test sends aside: the only other one that may be sent until the circuit is closed. */
  private trial: Row | null = null
  private pauses = 0

  get isClosed(): boolean {
    return this.failures === null || this.failures < PROBES_AFTER
  }

  picked(row: Row): void {
    if (!row.atOnce) this.trial = row
  }

  /** The circuit may have opened since the row was picked. */
  maySend(row: Row): boolean {
    return this.isClosed || row.atOnce || this.trial === row
  }

  /** `inARow` attempts have failed. Deliveries picked before the circuit opened may no longer be sent. */
  failed(inARow: number): void {
    if (this.isClosed) this.trial = null
    this.failures = inARow
  }

  succeeded(): void {
    this.close(0)
  }

  /** Its endpoint was changed after `failures` attempts that were not delivered: the next trial is due at once. */
  reset(failures: number): void {
    this.resets++
    this.close(failures)
  }

  /** The database will tell how many attempts have failed. */
  forget(): void {
    this.close(null)
  }

  private close(failures: number | null): void {
    this.failures = failures
    this.isOpen = false
  }

  /** Null while the circuit is closed. */
  open(): Pause | null {
    if (this.isClosed) return null
    this.isOpen = true
    return { number: ++this.pauses, units: pauseUnits(this.failures!) }
  }

  /** False when another pause has begun since. */
  endPause(number: number): boolean {
    if (number !== this.pauses) return false
    this.isOpen = false
    return true
  }
}
