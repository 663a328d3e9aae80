/**
 * Settings of every connection before its first statement, whatever the server, the database or the role has by default:
 * those that our SQL relies on, and those that end a session whose client is gone.
 *
 * Only settings that differ are set. So a role is refused only if it has a setting that it may not change (with
 * `session_replication_role` no trigger would run): the connection fails, and the error names the setting. They are set by
 * statements and not as connection parameters, which a pooler in between might not know. Settings that an operator may want
 * to choose are left alone: costs, memory, `synchronous_commit`, `default_transaction_read_only`.
 */
import { Duration } from "effect"

const ON = [
  "array_nulls",
  "standard_conforming_strings",
  "row_security",
  // With one of these off, statements read whole tables. Statements that need one off set it themselves.
  "enable_bitmapscan",
  "enable_hashagg",
  "enable_hashjoin",
  "enable_incremental_sort",
  "enable_indexonlyscan",
  "enable_indexscan",
  "enable_material",
  "enable_memoize",
  "enable_mergejoin",
  "enable_nestloop",
  "enable_seqscan",
  "enable_sort"
]
const OFF = ["default_transaction_deferrable", "exit_on_error", "jit", "transform_null_equals"]

/**
 * Times have one style and zone. `read committed`, because after a wait for a lock a statement must see what was committed
 * meanwhile. Under `repeatable read` a deleted endpoint would leave behind deliveries that were published while it was
 * locked, and retention could remove an event for which a replay was just made (docs/adr/0015-publishing.md).
 */
const OTHERS: Readonly<Record<string, string>> = {
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  bytea_output: "hex",
  // Below the server's own: otherwise it would carry on for a client that is gone, and hold locks or queue for them.
  client_connection_check_interval: "2000",
  default_transaction_isolation: "read committed",
  extra_float_digits: "1",
  from_collapse_limit: "8",
  geqo: "on",
  join_collapse_limit: "8",
  lock_timeout: "0",
  plan_cache_mode: "auto",
  session_replication_role: "origin",
  // From PostgreSQL 17 on. Migrations and the removal of history may take long.
  transaction_timeout: "0"
}

/**
 * PostgreSQL ends a statement or a wait that takes longer. Without a value the role's setting applies; waits for locks are
 * then unlimited.
 */
export interface Limits {
  readonly statementTimeout?: Duration.DurationInput
  readonly idleInTransaction?: Duration.DurationInput
  readonly lockTimeout?: Duration.DurationInput
}

const milliseconds = (limit: Duration.DurationInput) => String(Duration.toMillis(limit))

const wantedOf = ({ idleInTransaction, lockTimeout, statementTimeout }: Limits) => ({
  ...Object.fromEntries([...ON.map((name) => [name, "on"]), ...OFF.map((name) => [name, "off"])]),
  ...OTHERS,
  ...(lockTimeout && { lock_timeout: milliseconds(lockTimeout) }),
  ...(statementTimeout && { statement_timeout: milliseconds(statementTimeout) }),
  ...(idleInTransaction && { idle_in_transaction_session_timeout: milliseconds(idleInTransaction) })
})

/** The search path comes first: with another path, the second statement could call somebody else's functions. */
export const sessionOf = (limits: Limits = {}): string =>
  `set search_path = pg_catalog, pg_temp; select set_config(name, w.value, false) from (values ${Object.entries(
    wantedOf(limits)
  )
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(", ")}) as w(name, value) join pg_settings using (name) where setting <> w.value`
