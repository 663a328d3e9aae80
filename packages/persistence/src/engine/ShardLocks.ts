/**
 * The statements of shard ownership, on the connection that holds the locks: advisory locks in class `CLASS`. Objects 0 to 31
 * are the shards; every worker holds `MEMBER` shared. Anybody who may connect can take these locks. A holder whose role cannot
 * change the queue is a foreign session, and no member. A session can take a lock twice, so only free locks are tried.
 */
import { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import type { DedicatedConnection } from "../client/DedicatedConnection.ts"
import { Count } from "../client/internal/Columns.ts"

const CLASS = 7_067_002
const MEMBER = 1_000_000

/** The server ends a session after this silence, which frees its locks. */
export const IDLE_SESSION_TIMEOUT_MS = 5_000

/** A session that holds locks and cannot be a worker. */
const ForeignSession = Schema.Struct({
  pid: Count,
  role: Schema.String,
  application: Schema.String,
  shards: Count
})
export type ForeignSession = typeof ForeignSession.Type

const Membership = Schema.Struct({
  /** By the database's clock. */
  now: Schema.Number,
  shardCount: Count,
  members: Count,
  /** This worker's place among the members, from 0. */
  position: Count,
  free: Schema.Array(Count),
  foreignSessions: Schema.Array(ForeignSession)
})
export type Membership = typeof Membership.Type

const Joined = Schema.Struct({ joined: Schema.Boolean })

const Cleared = Schema.Struct({ shard: Count })

const Taken = Schema.Struct({
  ...Cleared.fields,
  /** Null when the last owner released the shard. */
  inDoubtUntil: Schema.NullOr(Count)
})
export type Taken = typeof Taken.Type

export interface ShardLocks {
  /** False while a foreign session keeps all workers out. Membership ends with the session. */
  readonly join: Effect.Effect<boolean, SqlError>
  readonly leave: Effect.Effect<void, SqlError>
  readonly membership: Effect.Effect<Membership, SqlError>
  readonly take: (shards: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Taken>, SqlError>
  readonly clearDoubt: (shards: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, SqlError>
  readonly release: (shards: ReadonlyArray<number>) => Effect.Effect<void, SqlError>
  /** Unlocks shards whose rows are in doubt for the next owner. */
  readonly revoke: (shards: ReadonlyArray<number>) => Effect.Effect<void, SqlError>
}

export const noAnswer = new SqlError({
  cause: new Error("No answer"),
  message: "The heartbeat got no answer in time"
})

const MEMBERSHIP = `
  with locks as (
    select l.objid::bigint as object, l.pid, l.granted, a.usename, a.application_name,
      coalesce(has_table_privilege(a.usesysid, 'posthorn.queue', 'update'), true) as worker
    from pg_locks l left join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and l.classid = ${CLASS} and l.objsubid = 2
      and l.database = (select oid from pg_database where datname = current_database())
  )
  select extract(epoch from clock_timestamp())::float8 * 1000 as now, posthorn.shard_count() as "shardCount",
    (select count(*)::integer from locks where object = ${MEMBER} and granted and worker) as members,
    (select count(*)::integer from locks where object = ${MEMBER} and granted and worker and pid < pg_backend_pid()) as position,
    array(
      select shard from generate_series(0, posthorn.shard_count() - 1) as shard
      where shard not in (select object from locks)
      order by (shard + 7 * pg_backend_pid()) % posthorn.shard_count()
    ) as free,
    (select coalesce(json_agg(s order by s.pid), '[]') from (
      select pid, usename as role, application_name as application,
        count(*) filter (where granted and object < posthorn.shard_count())::integer as shards
      from locks where not worker group by 1, 2, 3
    ) s) as "foreignSessions"`

const TAKE = `
  with locked as materialized (
    select shard from unnest($1::integer[]) as shard where pg_try_advisory_lock(${CLASS}, shard)
  )
  select shard, posthorn.take_shard(shard::smallint, $2) as "inDoubtUntil" from locked`

const CLEAR = "select posthorn.clear_doubt($1::smallint[], $2) as shard"

const RELEASE = `
  select posthorn.release_shard(shard::smallint, $2), pg_advisory_unlock(${CLASS}, shard)
  from unnest($1::integer[]) as shard`

const REVOKE = `select pg_advisory_unlock(${CLASS}, shard) from unnest($1::integer[]) as shard`

export const make = (connection: DedicatedConnection, owner: string): Effect.Effect<ShardLocks, SqlError> =>
  Effect.gen(function* () {
    yield* connection.query(`set idle_session_timeout = ${IDLE_SESSION_TIMEOUT_MS}`)
    return {
      join: Effect.map(
        connection.query(`select pg_try_advisory_lock_shared(${CLASS}, ${MEMBER}) as joined`, [], Joined),
        ([row]) => row!.joined
      ),
      leave: Effect.asVoid(
        connection.query(`select pg_advisory_unlock_shared(${CLASS}, ${MEMBER}) as resigned`)
      ),
      membership: Effect.map(connection.query(MEMBERSHIP, [], Membership), ([row]) => row!),
      take: (shards) =>
        shards.length === 0 ? Effect.succeed([]) : connection.query(TAKE, [shards, owner], Taken),
      clearDoubt: (shards) =>
        shards.length === 0
          ? Effect.succeed([])
          : Effect.map(connection.query(CLEAR, [shards, owner], Cleared), (cleared) =>
              cleared.map(({ shard }) => shard)
            ),
      release: (shards) =>
        shards.length === 0 ? Effect.void : Effect.asVoid(connection.query(RELEASE, [shards, owner])),
      revoke: (shards) => Effect.asVoid(connection.query(REVOKE, [shards]))
    }
  })
