/** The locks that show publishers a sleeping worker (`posthorn.notify_if_asleep`), on the connection on which it listens. */
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import type { DedicatedConnection } from "../client/DedicatedConnection.ts"
import { Count } from "../client/internal/Columns.ts"

const TAKE = "select shard, taken from posthorn.take_sleep_locks($1)"

const Tried = Schema.Struct({ shard: Count, taken: Schema.Boolean })

const GIVE_BACK =
  "select pg_advisory_unlock(posthorn.sleep_lock_class(), shard) from unnest($1::integer[]) as shard"

export interface TriedLocks {
  readonly taken: ReadonlyArray<number>
  /** Another session holds these, such as that of the last owner, which froze. Until it ends, their publishers notify too. */
  readonly others: ReadonlyArray<number>
}

export interface SleepLocks {
  /** Takes the locks that are free. A shard's lock is not free while a transaction that published to the shard is open. */
  readonly take: (shards: ReadonlyArray<number>) => Effect.Effect<TriedLocks, SqlError>
  readonly release: Effect.Effect<void, SqlError>
}

export const sleepLocks = (connection: DedicatedConnection): SleepLocks => {
  const held = new Set<number>()
  return {
    take: (shards) =>
      Effect.map(connection.query(TAKE, [shards], Tried), (rows) => {
        const shardsThat = (taken: boolean) =>
          rows.filter((row) => row.taken === taken).map(({ shard }) => shard)
        const tried = { taken: shardsThat(true), others: shardsThat(false) }
        for (const shard of tried.taken) held.add(shard)
        return tried
      }),
    release: Effect.suspend(() => {
      const shards = [...held]
      held.clear()
      return Effect.asVoid(connection.query(GIVE_BACK, [shards]))
    })
  }
}

/** Shows that the owner lives, whatever becomes of the connection that holds its shards. */
export const showLife = (connection: DedicatedConnection, owner: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(connection.query("select posthorn.show_life($1)", [owner]))
