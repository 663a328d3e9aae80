/**
 * `posthorn.shards` in memory: who owns a shard, and since when its rows are in doubt, because the last owner was another one
 * and did not give it back.
 */

/** As `posthorn.outlives_its_lease`: an owner may start attempts for so long after its shard was taken over. */
export const OUTLIVES_ITS_LEASE_MS = 4_500

interface Row {
  owner: object | null
  inDoubtUntil: number | null
  began: boolean
  stoppedAt: number | null
}

const NO_ROW: Row = { owner: null, inDoubtUntil: null, began: false, stoppedAt: null }

export class ShardTable {
  private readonly rows = new Map<number, Row>()
  private readonly micros: () => number
  /** Owners that lost their shards and may go on. */
  readonly living = new Set<object>()

  constructor(micros: () => number) {
    this.micros = micros
  }

  private row(shard: number): Row {
    const row = this.rows.get(shard) ?? { ...NO_ROW }
    this.rows.set(shard, row)
    return row
  }

  /** In microseconds; null if nothing is in doubt. */
  inDoubtUntil(shard: number): number | null {
    return this.row(shard).inDoubtUntil
  }

  take(shard: number, owner: object): number | null {
    const row = this.row(shard)
    if (row.owner === owner) return row.inDoubtUntil
    row.inDoubtUntil = row.owner === null ? null : this.micros()
    if (row.owner === null) row.stoppedAt = null
    else if (this.living.has(row.owner)) row.stoppedAt = this.micros() + OUTLIVES_ITS_LEASE_MS * 1_000
    else if (row.began) row.stoppedAt = this.micros()
    row.began = false
    row.owner = owner
    return row.inDoubtUntil
  }

  /** In microseconds: until then earlier owners may have started attempts that are not recorded; null for none. */
  stoppedAt(shard: number): number | null {
    return this.row(shard).stoppedAt
  }

  began(shard: number): void {
    this.row(shard).began = true
  }

  release(shard: number, owner: object): void {
    const row = this.row(shard)
    if (row.owner === owner) row.owner = null
  }

  /** Whether the shard's doubt ends: no row that was due by then is `left`, and the last owner starts nothing any more. */
  clearDoubt(shard: number, owner: object, left: (until: number) => boolean): boolean {
    const row = this.row(shard)
    if (row.owner !== owner || row.inDoubtUntil === null || left(row.inDoubtUntil)) return false
    if (this.micros() < row.inDoubtUntil + OUTLIVES_ITS_LEASE_MS * 1_000) return false
    row.inDoubtUntil = null
    row.stoppedAt = null
    return true
  }
}
