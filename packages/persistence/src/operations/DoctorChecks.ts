/** The questions of `posthorn doctor` to the database, each asked separately. Nothing here changes anything. */
import { randomUUID } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { FailureDetail, FailureReason } from "@posthorn/domain/Verdict"
import { Clock, Effect, Schema } from "effect"
import { DedicatedConnections } from "../client/DedicatedConnection.ts"
import { Count, Id } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"
import * as ShardLocks from "../engine/ShardLocks.ts"

const ServerFacts = Schema.Struct({
  version: Schema.String,
  /** Such as 180004. */
  versionNumber: Count,
  database: Schema.String,
  role: Schema.String,
  /** Null for a socket. */
  address: Schema.NullOr(Schema.String),
  isLocal: Schema.Boolean,
  isSuperuser: Schema.Boolean,
  isStandby: Schema.Boolean,
  isReadOnly: Schema.Boolean,
  /** Null when the connection is not encrypted. */
  tls: Schema.NullOr(Schema.String),
  fsync: Schema.String,
  synchronousCommit: Schema.String
})

const Now = Schema.Struct({ now: Schema.Number })

const Missing = Schema.Struct({ missing: Schema.String })

const OutOfReach = FailureReason.pipe(Schema.pickLiteral("tls_failed", "dns_failed", "connection_failed"))

const FailingEndpoint = Schema.Struct({
  id: Id("endpoint"),
  url: Schema.String,
  reason: OutOfReach,
  detail: Schema.NullOr(FailureDetail)
})

export const serverFacts = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    rows(sql, ServerFacts)`
      select current_setting('server_version') as version,
        current_setting('server_version_num')::integer as "versionNumber", current_database() as database,
        current_user as role, (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser",
        host(inet_server_addr()) as address,
        coalesce(inet_server_addr() <<= '127.0.0.0/8' or inet_server_addr() = '::1', true) as "isLocal",
        pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only')::boolean as "isReadOnly",
        (select version || ', ' || cipher from pg_stat_ssl where pid = pg_backend_pid() and ssl) as tls,
        current_setting('fsync') as fsync, current_setting('synchronous_commit') as "synchronousCommit"`,
    ([facts]) => facts!
  )
)

/** Whether every transaction is read-only here, as on a standby. */
export const readsOnly = Effect.map(serverFacts, ({ isReadOnly }) => isReadOnly)

const ConnectionLimit = Schema.Struct({
  /** The owner of the limit, as text for people. */
  by: Schema.String,
  left: Count
})

export const connections = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => rows(sql, ConnectionLimit)`
    with others as materialized (
      select datname, usename, backend_type from pg_stat_activity
      where backend_type = 'client backend' and application_name not like 'posthorn %'
    )
    select 'max_connections' as by, greatest(0, (
        select sum(case name when 'max_connections' then setting::integer else -setting::integer end) from pg_settings
        where name in ('max_connections', 'superuser_reserved_connections', 'reserved_connections'))
      - (select count(*) from others))::integer as left
    union all
    select 'the limit of the role ' || rolname, greatest(0, rolconnlimit
      - (select count(*) from others where usename = rolname))::integer
    from pg_roles where rolname = current_user and rolconnlimit >= 0 and not rolsuper
    union all
    select 'the limit of the database ' || d.datname, greatest(0, d.datconnlimit
      - (select count(*) from others o where o.datname = d.datname))::integer
    from pg_database d where d.datname = current_database() and d.datconnlimit >= 0`
)

const Timeout = Schema.Struct({
  name: Schema.Literal("idle_session_timeout", "idle_in_transaction_session_timeout", "statement_timeout"),
  /** 0 means none. */
  milliseconds: Count
})

/** That Posthorn does not override. */
export const timeouts = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => rows(sql, Timeout)`
    select name, setting::integer as milliseconds from pg_settings
    where name in ('idle_session_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout') order by name`
)

/** How far the database's clock is ahead of this process's, corrected by half of the round trip, and that; in milliseconds. */
export const clock = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const began = yield* Clock.currentTimeMillis
  const [row] = yield* rows(sql, Now)`select extract(epoch from clock_timestamp())::float8 * 1000 as now`
  const ended = yield* Clock.currentTimeMillis
  return { aheadMs: Math.round(row!.now - (began + ended) / 2), roundTripMs: ended - began }
})

export const missingRights = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    rows(sql, Missing)`
      select concat_ws(' ', privilege, of_table::text, '(' || of_column || ')') as missing from posthorn.needed_rights()
      where not case when of_column is null then has_table_privilege(of_table, privilege)
        else has_column_privilege(of_table, of_column, privilege) end
      union all
      select 'execute ' || proname from pg_proc
      where pronamespace = 'posthorn'::regnamespace and prokind = 'f' and prorettype <> 'trigger'::regtype
        and not has_function_privilege(oid, 'execute')
      order by 1`,
    (found) => found.map(({ missing }) => missing)
  )
)

/** Workers and their shards, and foreign sessions that hold some. */
export const whoWorks: Effect.Effect<ShardLocks.Membership, SqlError, DedicatedConnections> = Effect.gen(
  function* () {
    const connections = yield* DedicatedConnections
    const locks = yield* ShardLocks.make(yield* connections.open("posthorn doctor"), randomUUID())
    return yield* locks.membership
  }
).pipe(Effect.scoped)

const LOOKED_AT = 1_000

/** Their latest attempt reached no receiver; the first thousand that fail. */
export const unreachable = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => rows(sql, FailingEndpoint)`
    select e.id, e.url, d.last_failure_reason as reason, a.failure_detail as detail
    from (select * from posthorn.endpoints where enabled and consecutive_failures > 0 limit ${LOOKED_AT}) e
    cross join lateral (
      select d.id, d.attempts, d.last_failure_reason from posthorn.deliveries d
      where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.last_attempt_at is not null
      order by d.id desc limit 1
    ) d
    left join posthorn.attempts a on a.workspace_id = e.workspace_id and a.delivery_id = d.id and a.ordinal = d.attempts
    where d.last_failure_reason in ${sql.in(OutOfReach.literals)}
    order by e.id`
)
