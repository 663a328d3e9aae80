/**
 * Settings for every connection before its first statement, whatever the defaults of server, database or role: those that our
 * SQL relies on, and those that end abandoned sessions.
 *
 * Only settings that differ are changed. So a role without the right to change one is refused only if that setting is wrong
 * (such as `session_replication_role`, with which no trigger runs): the connection fails, and the error names the setting. They
 * are set by statements and not as startup parameters, which a pooler might not accept. Settings that an operator may want to
 * choose are left alone: costs, memory, `synchronous_commit`, `default_transaction_read_only`.
 */
import { Duration } from "effect"

const ON = [
  "array_nulls",
  "standard_conforming_strings",
  "row_security",
  // With one of these off, whole tables would be read. Statements that need one off set it themselves.
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
 * Times come in one style and zone. After waiting for a lock, a statement must see what was committed meanwhile. Under
 * `repeatable read` the deletion of an endpoint would leave behind deliveries that were published while it waited, and
 * retention could remove an event that a replay was just made of (docs/adr/0015-publishing.md).
 */
const OTHERS: Readonly<Record<string, string>> = {
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  bytea_output: "hex",
  // Below the server's deadline for an answer. Otherwise a statement would run on after its caller has gone, and hold locks or
  // wait for them.
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

/**
 * PostgreSQL ends statements and waits that take longer. A limit that is not given stays as the role has it; by default, waits
 * for locks never end.
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

/** The search path comes first: with another one, the second statement could call anybody's functions. */
export const sessionOf = (limits: Limits = {}): string =>
  `set search_path = pg_catalog, pg_temp; select set_config(name, w.value, false) from (values ${Object.entries(
    wantedOf(limits)
  )
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(", ")}) as w(name, value) join pg_settings using (name) where setting <> w.value`
