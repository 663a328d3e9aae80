/**
 * The locks that tell publishers that a worker sleeps: `posthorn.notify_if_asleep` in migrations/0002. They are taken on the connection
 * on which the worker listens, so they end with it.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import type { DedicatedConnection } from "../client/DedicatedConnection.ts"
import { Count } from "../client/internal/Columns.ts"

const TAKE = `select shard from unnest($1::integer[]) as shard
  where pg_try_advisory_lock(posthorn.sleep_lock_class(), shard)`

const Taken = Schema.Struct({ shard: Count })

const GIVE_BACK =
  "select pg_advisory_unlock(posthorn.sleep_lock_class(), shard) from unnest($1::integer[]) as shard"

export interface SleepLocks {
  /**
   * Takes what it can and gives the shards that it got. A shard cannot be locked while a transaction that published to it is
   * open.
   */
  readonly take: (shards: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, SqlError>
  readonly release: Effect.Effect<void, SqlError>
}

export const sleepLocks = (connection: DedicatedConnection): SleepLocks => {
  const held = new Set<number>()
  return {
    take: (shards) =>
      Effect.map(connection.query(TAKE, [shards], Taken), (rows) => {
        const taken = rows.map(({ shard }) => shard)
        for (const shard of taken) held.add(shard)
        return taken
      }),
    release: Effect.suspend(() => {
      const shards = [...held]
      held.clear()
      return Effect.asVoid(connection.query(GIVE_BACK, [shards]))
    })
  }
}

/** Shows that the owner of shards lives, whatever becomes of the connection that holds them. */
export const showLife = (connection: DedicatedConnection, owner: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(connection.query("select posthorn.show_life($1)", [owner]))
