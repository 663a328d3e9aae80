/**
 * What may still be committed behind the read cursors. A transaction that publishes decides its due time before it commits,
 * so its rows may appear behind what was read since. Each read tells which transactions have published and are open. While
 * they are young, and once when they have ended, the next read goes back to before they began to publish.
 */
import type { Open } from "@posthorn/persistence/engine/Queue"

/** In microseconds. Due times are cut to the millisecond: a row may be due so much before its transaction was seen. */
const CUT = 1_000

/** The transaction was already open when this worker took the shard, so its beginning is unknown. */
const UNKNOWN = Number.NEGATIVE_INFINITY

export interface LateCommitsSeen {
  /** Before this moment nothing new can have been committed by those that have ended. */
  readonly back: number
  /** The same with those that are open and young: to go back there at once finds what they commit sooner. */
  readonly soon: number
  /** Something was committed and nobody knows since when. */
  readonly sweeps: boolean
  /** A transaction has begun or ended. */
  readonly stirred: boolean
}

export class LateCommits {
  private readonly youngMs: number
  /** Those that were open at the last read, and since when they may have published. */
  private open = new Map<string, number>()
  private openShards: ReadonlySet<number> = new Set()

  constructor(youngMs: number) {
    this.youngMs = youngMs
  }

  isOpen(shard: number): boolean {
    return this.openShards.has(shard)
  }

  /** Takes in what a read at `moment` saw; `before`: the moment of the read before; `isNew`: shards without one. */
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
    const stirred = ended.length > 0 || still.size > this.open.size
    this.open = still
    this.openShards = new Set(open.map(({ shard }) => shard))
    const known = ended.filter((since) => since !== UNKNOWN)
    const back = Math.min(moment - CUT, ...known)
    // Not for long: going back passes all that came since.
    const young = [...still.values()].filter((since) => since > moment - this.youngMs * 1_000)
    return { back, soon: Math.min(back, ...young), sweeps: known.length < ended.length, stirred }
  }
}
