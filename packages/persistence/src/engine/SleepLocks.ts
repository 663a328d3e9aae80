/**
 * The locks that tell publishers that a worker sleeps: see `posthorn.wake` in migrations/0002. They are on the listener's
 * connection, so the locks never outlive the listening.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import type { DedicatedConnection } from "../client/DedicatedConnection.ts"
import { Count } from "../client/internal/Columns.ts"

const TAKE = `select shard from unnest($1::integer[]) as shard
  where pg_try_advisory_lock(posthorn.wake_class(), shard)`

const Taken = Schema.Struct({ shard: Count })

/** The connection holds no other advisory locks. */
const GIVE_BACK = "select pg_advisory_unlock_all()"

export interface SleepLocks {
  /**
   * Tries to take the locks of these shards; returns those it got. A shard's lock is not free while a transaction that
   * published to it is open.
   */
  readonly take: (shards: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, SqlError>
  readonly giveBack: Effect.Effect<void, SqlError>
}

export const sleepLocks = (connection: DedicatedConnection): SleepLocks => ({
  take: (shards) =>
    Effect.map(connection.query(TAKE, [shards], Taken), (taken) => taken.map(({ shard }) => shard)),
  giveBack: Effect.asVoid(connection.query(GIVE_BACK))
})
