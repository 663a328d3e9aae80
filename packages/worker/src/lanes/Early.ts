/**
 * What the last read has loaded along with what it found: a delivery that comes alone is sent without another statement.
 * Kept until the next read, as long as it is fresh; so it is never much.
 *
 * Not in the rows, as what is loaded for those whose turn it is: these here may have to wait, for a slow lane or a lower place in
 * the order. Each would keep its payload for as long, and all that wait would have to be gone through when it is too old or may
 * be true no more. Here the next read lets go of all of it at once, and so does `forget`.
 */
import type { Loaded, Waiting } from "@posthorn/persistence/Queue"
import type { Row } from "./Lane.ts"

interface Found {
  readonly attempts: number
  readonly loaded: Loaded
}

const NONE: ReadonlyMap<Row, Loaded> = new Map()

export class Early {
  private readonly found = new Map<string, Found>()
  /** When it was loaded. */
  at = Number.NEGATIVE_INFINITY

  /** Nothing of an answer that comes after `latest`: nobody knows for how long it was under way. */
  put(rows: ReadonlyArray<Waiting>, loaded: ReadonlyMap<string, Loaded>, now: number, latest: number): void {
    this.found.clear()
    this.at = now
    if (loaded.size === 0 || now > latest) return
    for (const { attempts, deliveryId } of rows) {
      const one = loaded.get(deliveryId)
      if (one !== undefined) this.found.set(deliveryId, { attempts, loaded: one })
    }
  }

  /** What was loaded may be so no more. */
  forget(): void {
    this.found.clear()
  }

  /** What was loaded for these since then. Not what stands in the database behind a row that was read before: another attempt. */
  take(rows: ReadonlyArray<Row>, since: number): ReadonlyMap<Row, Loaded> {
    if (this.found.size === 0 || this.at < since) return NONE
    const taken = new Map<Row, Loaded>()
    for (const row of rows) {
      const one = this.found.get(row.deliveryId)
      if (one?.attempts === row.attempts) taken.set(row, one.loaded)
    }
    this.found.clear()
    return taken
  }
}
