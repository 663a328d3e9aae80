/**
 * Finds rows that commit behind the read cursors: a publishing transaction chooses its due time before it commits. While such a
 * transaction is open and young, and once after its end, the next read starts before its publishing.
 */
import { type DatabaseMicros, databaseMicros, earliest } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Open } from "@posthorn/persistence/engine/Queue"

/** Microseconds. Due times are truncated to milliseconds. */
const CUT = 1_000

/** For a transaction that was open when this worker took the shard: its due times are unknown. */
const UNKNOWN = databaseMicros(Number.NEGATIVE_INFINITY)

interface LateCommitsSeen {
  /** Rows of ended transactions are due from this time on, unless their due time is unknown (`sweeps`). */
  readonly back: DatabaseMicros
  /** The same, counting young open transactions too: their rows are found sooner. */
  readonly soon: DatabaseMicros
  /** Something was committed with an unknown due time. */
  readonly sweeps: boolean
  readonly transactionsChanged: boolean
}

export class LateCommits {
  private readonly youngMs: number
  /** By open transaction: the earliest time at which it may have published. */
  private open = new Map<string, DatabaseMicros>()
  private openShards: ReadonlySet<number> = new Set()

  constructor(youngMs: number) {
    this.youngMs = youngMs
  }

  isOpen(shard: number): boolean {
    return this.openShards.has(shard)
  }

  /** `before`: the time of the previous read. `isNew`: whether this read is a shard's first. */
  seen(
    open: ReadonlyArray<Open>,
    moment: DatabaseMicros,
    before: DatabaseMicros,
    isNew: (shard: number) => boolean
  ): LateCommitsSeen {
    const still = new Map<string, DatabaseMicros>()
    for (const { shard, transaction } of open) {
      const known = still.get(transaction) ?? this.open.get(transaction) ?? databaseMicros(before - CUT)
      still.set(transaction, isNew(shard) ? UNKNOWN : earliest(known, moment))
    }
    const ended = [...this.open].filter(([transaction]) => !still.has(transaction)).map(([, since]) => since)
    const transactionsChanged = ended.length > 0 || still.size > this.open.size
    this.open = still
    this.openShards = new Set(open.map(({ shard }) => shard))
    const known = ended.filter((since) => since !== UNKNOWN)
    const back = earliest(databaseMicros(moment - CUT), ...known)
    // Rewinding for old transactions would read too much again.
    const young = [...still.values()].filter((since) => since > moment - this.youngMs * 1_000)
    return { back, soon: earliest(back, ...young), sweeps: known.length < ended.length, transactionsChanged }
  }
}
