/**
 * Which shards this worker may take work from. Live it is Shards.ts, by PostgreSQL's session locks; in the simulation,
 * a model that also makes mistakes.
 */
import { Context, type Effect } from "effect"

/** What the engine does when its share changes. */
export interface Owner {
  /**
   * The shard is ours. Rows due by `inDoubtUntil` (microseconds by the database's clock) may have been in flight at an
   * owner that died; null when it was given back cleanly. Whoever takes back its own is told the same as before.
   */
  readonly taken: (shard: number, inDoubtUntil: number | null) => void
  /** Nothing is left in the shard of what an owner that died may have had in flight. */
  readonly cleared: (shard: number) => void
  /** The shard is lost, at once. */
  readonly lost: (shard: number) => void
  /** Stop taking work from the shard; done when nothing of it is in flight or unrecorded. */
  readonly drained: (shard: number) => Effect.Effect<void>
  /**
   * Whether nothing of the shard is in flight, unrecorded, or in doubt, which a dead owner may have had in flight. Only
   * then is it given back cleanly. What is in doubt stays so for the next owner.
   */
  readonly idle: (shard: number) => boolean
}

export class Ownership extends Context.Tag("@posthorn/worker/Ownership")<
  Ownership,
  {
    /** Keeps a fair share of the shards until interrupted, then gives them back. */
    readonly keep: (owner: Owner) => Effect.Effect<never>
    /** False when this worker cannot be sure of its shards: then it starts nothing. */
    readonly holdsLease: () => boolean
  }
>() {}
