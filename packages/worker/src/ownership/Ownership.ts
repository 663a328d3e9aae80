/** Which shards this worker may deliver: Shards.ts, or a model in the simulation that also makes mistakes. */
import { Context, type Effect } from "effect"

export interface Owner {
  /**
   * Rows due by `inDoubtUntil` (microseconds by the database's clock) may have been in flight at a dead owner; null after a
   * clean release. Taking its own shard again gives the same value.
   */
  readonly taken: (shard: number, inDoubtUntil: number | null) => void
  readonly cleared: (shard: number) => void
  /** With immediate effect. */
  readonly lost: (shard: number) => void
  /** See HandOver.ts. */
  readonly handOver: (shard: number) => Effect.Effect<void>
  /** Nothing of the shard is in flight, unrecorded or in doubt: it is given back cleanly. */
  readonly idle: (shard: number) => boolean
}

export class Ownership extends Context.Tag("@posthorn/worker/Ownership")<
  Ownership,
  {
    /** In `posthorn.shards`. */
    readonly name: string
    /** Until interrupted, then gives them back. */
    readonly keep: (owner: Owner) => Effect.Effect<never>
    /** Otherwise this worker starts nothing. */
    readonly holdsLease: () => boolean
  }
>() {}
