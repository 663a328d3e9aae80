/** Which shards this worker may deliver: Shards.ts, or a model in the simulation that also makes mistakes. */
import { Context, type Effect } from "effect"

export interface Owner {
  /**
   * Rows due by `inDoubtUntil` (microseconds by the database's clock) may have been in flight at a dead owner; null after a
   * clean release. A worker that takes its own shard again gets the same value.
   */
  readonly taken: (shard: number, inDoubtUntil: number | null) => void
  readonly cleared: (shard: number) => void
  /** With immediate effect. */
  readonly lost: (shard: number) => void
  /** See HandOver.ts. */
  readonly handOver: (shard: number) => Effect.Effect<void>
  /** Nothing of the shard is in flight, unrecorded or in doubt: it is released. */
  readonly idle: (shard: number) => boolean
}

export class Ownership extends Context.Tag("@posthorn/worker/Ownership")<
  Ownership,
  {
    /** The worker's name in `posthorn.shards`. */
    readonly name: string
    /** Keeps this worker's share of the shards until it is interrupted, then releases them. */
    readonly keep: (owner: Owner) => Effect.Effect<never>
    /** If false, this worker starts nothing. */
    readonly holdsLease: () => boolean
  }
>() {}
