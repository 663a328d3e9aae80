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

export interface Pause {
  readonly number: number
  readonly units: number
}

export class Circuit<Row extends { readonly atOnce: boolean }> {
  /** Null until the database or an attempt of this worker has shown it. */
  failures: number | null = null
  isOpen = false
  resets = 0
  /** The delivery that was picked last, without test sends. */
  private trial: Row | null = null
  private pauses = 0

  get isClosed(): boolean {
    return this.failures === null || this.failures < PROBES_AFTER
  }

  picked(row: Row): void {
    if (!row.atOnce) this.trial = row
  }

  maySend(row: Row): boolean {
    return this.isClosed || row.atOnce || this.trial === row
  }

  /** Deliveries picked before the circuit opened may not be sent. */
  failed(inARow: number): void {
    if (this.isClosed) this.trial = null
    this.failures = inARow
  }

  succeeded(): void {
    this.close(0)
  }

  /** The endpoint was changed after `failures` attempts that were not delivered. */
  reset(failures: number): void {
    this.resets++
    this.close(failures)
  }

  forget(): void {
    this.close(null)
  }

  private close(failures: number | null): void {
    this.failures = failures
    this.isOpen = false
  }

  open(): Pause | null {
    if (this.isClosed) return null
    this.isOpen = true
    return { number: ++this.pauses, units: pauseUnits(this.failures!) }
  }

  endPause(number: number): boolean {
    if (number !== this.pauses) return false
    this.isOpen = false
    return true
  }
}
