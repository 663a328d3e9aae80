/**
 * `posthorn.shards` in memory: who owns a shard, and since when its rows are in doubt, because the last owner was another one
 * and did not give it back.
 */

/** As `posthorn.outlives_its_lease`: an owner may start attempts for so long after its shard was taken over. */
export const OUTLIVES_ITS_LEASE_MS = 4_500

interface Row {
  owner: object | null
  inDoubtUntil: number | null
}

export class ShardTable {
  private readonly rows = new Map<number, Row>()
  private readonly micros: () => number

  constructor(micros: () => number) {
    this.micros = micros
  }

  private row(shard: number): Row {
    const row = this.rows.get(shard) ?? { owner: null, inDoubtUntil: null }
    this.rows.set(shard, row)
    return row
  }

  /** In microseconds; null if nothing is in doubt. */
  inDoubtUntil(shard: number): number | null {
    return this.row(shard).inDoubtUntil
  }

  take(shard: number, owner: object): number | null {
    const row = this.row(shard)
    if (row.owner !== owner) row.inDoubtUntil = row.owner === null ? null : this.micros()
    row.owner = owner
    return row.inDoubtUntil
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
    return true
  }
}
