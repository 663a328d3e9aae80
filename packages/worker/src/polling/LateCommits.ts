/**
 * Finds rows that are committed behind the read cursors. A publishing transaction chooses its due time before it commits, so its rows
 * may appear in a part of the queue that was already read. Each read returns the publishing transactions that are open. While such a
 * transaction is young, and once after it has ended, the next read rewinds to the time before it published.
 */
import type { Open } from "@posthorn/persistence/engine/Queue"

/** In microseconds. Due times are truncated to milliseconds, so a row may be due this much before its transaction published. */
const CUT = 1_000

/** The transaction was already open when this worker took the shard, so its start is unknown. */
const UNKNOWN = Number.NEGATIVE_INFINITY

interface LateCommitsSeen {
  /** Where to rewind for transactions that have ended: no row of theirs is due earlier. */
  readonly back: number
  /** The same, for young open transactions too, so that their rows are found sooner. */
  readonly soon: number
  /** Something was committed, and its due time is unknown. */
  readonly sweeps: boolean
  /** A transaction has begun or ended. */
  readonly transactionsChanged: boolean
}

export class LateCommits {
  private readonly youngMs: number
  /** Transactions that were open at the last read, and from when on they may have published. */
  private open = new Map<string, number>()
  private openShards: ReadonlySet<number> = new Set()

  constructor(youngMs: number) {
    this.youngMs = youngMs
  }

  isOpen(shard: number): boolean {
    return this.openShards.has(shard)
  }

  /** Processes a read at `moment`. `before` is the moment of the previous read; `isNew` tells shards that had none. */
  seen(
    open: ReadonlyArray<Open>,
    moment: number,
    before: number,
    isNew: (shard: number) => boolean
  ): LateCommitsSeen {
    const still = new Map<string, number>()
    for (const { shard, transaction } of open) {
      const known = still.get(transaction) ?? this.open.get(transaction) ?? before - CUT
      still.set(transaction, isNew(shard) ? UNKNOWN : Math.min(known, moment))
    }
    const ended = [...this.open].filter(([transaction]) => !still.has(transaction)).map(([, since]) => since)
    const transactionsChanged = ended.length > 0 || still.size > this.open.size
    this.open = still
    this.openShards = new Set(open.map(({ shard }) => shard))
    const known = ended.filter((since) => since !== UNKNOWN)
    const back = Math.min(moment - CUT, ...known)
    // Not for old ones: rewinding reads everything again that came since.
    const young = [...still.values()].filter((since) => since > moment - this.youngMs * 1_000)
    return { back, soon: Math.min(back, ...young), sweeps: known.length < ended.length, transactionsChanged }
  }
}
