/**
 * What every connection is set to before its first statement, whatever the server, the database or the role has by default:
 * what our SQL stands on, and what keeps a session that nobody listens to from staying.
 *
 * Only what differs is set. So a role is refused only for what it has and may not change (`session_replication_role`, with
 * which no trigger runs): the connection fails, and the error names the setting. Set by statements and not when connecting,
 * because a pooler in between might not know them.
 * What an operator may want to choose is left alone: costs, memory, `synchronous_commit`, `default_transaction_read_only`.
 */
import { Duration } from "effect"

const ON = [
  "array_nulls",
  "standard_conforming_strings",
  "row_security",
  // A role without one of these reads whole tables. The statements that need less say so themselves.
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
 * Times come in one style and zone. After a wait for a lock, what was committed meanwhile must be seen: under `repeatable read`
 * a deleted endpoint would leave behind what was published to it while it was waited for, and retention could remove an event
 * of which a replay was just made (docs/adr/0015-publishing.md).
 */
const OTHERS: Readonly<Record<string, string>> = {
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  bytea_output: "hex",
  // Below the server's own: it would otherwise carry on for whoever hung up, and hold locks or stand in line for them.
  client_connection_check_interval: "2000",
  default_transaction_isolation: "read committed",
  extra_float_digits: "1",
  from_collapse_limit: "8",
  geqo: "on",
  join_collapse_limit: "8",
  lock_timeout: "0",
  plan_cache_mode: "auto",
  session_replication_role: "origin"
}

/** PostgreSQL ends what takes longer. What is not given stays as the role has it; waits for locks are then without end. */
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

/** The path comes first: with another one, what the second statement calls could be anybody's. */
export const sessionOf = (limits: Limits = {}): string =>
  `set search_path = pg_catalog, pg_temp; select set_config(name, w.value, false) from (values ${Object.entries(
    wantedOf(limits)
  )
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(", ")}) as w(name, value) join pg_settings using (name) where setting <> w.value`
