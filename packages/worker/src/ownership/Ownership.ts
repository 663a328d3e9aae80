/**
 * Which shards this worker may deliver. In production it is Shards.ts, by PostgreSQL's session locks; in the simulation, a
 * model that also makes mistakes.
 */
import { Context, type Effect } from "effect"

/** How the engine reacts when its share changes. */
export interface Owner {
  /**
   * The shard is this worker's. Rows due by `inDoubtUntil` (microseconds by the database's clock) may have been in flight at a
   * dead owner; null if the shard was given back cleanly. A worker that takes its own shard again gets the same value as
   * before.
   */
  readonly taken: (shard: number, inDoubtUntil: number | null) => void
  /** Nothing that a dead owner may have had in flight is left in the shard. */
  readonly cleared: (shard: number) => void
  /** The shard is lost with immediate effect. */
  readonly lost: (shard: number) => void
  /** Ends sending from the shard, which goes to another worker: see HandOver.ts. */
  readonly handOver: (shard: number) => Effect.Effect<void>
  /**
   * Whether nothing of the shard is in flight, unrecorded or in doubt. Only then is it given back cleanly. Deliveries in doubt
   * stay so for the next owner.
   */
  readonly idle: (shard: number) => boolean
}

export class Ownership extends Context.Tag("@posthorn/worker/Ownership")<
  Ownership,
  {
    /** This worker's, in `posthorn.shards`. */
    readonly name: string
    /** Keeps a fair share of the shards until interrupted, then gives them back. */
    readonly keep: (owner: Owner) => Effect.Effect<never>
    /** False when this worker cannot be sure to hold its shards: then it starts nothing. */
    readonly holdsLease: () => boolean
  }
>() {}
