/**
 * Settings of a database or a role that can change the meaning of SQL or make it slow, each as far from its default as
 * possible. Posthorn must work with any of them (`persistence/src/client/Session.ts`).
 */
import { Redacted } from "effect"
import { execute, withDatabase } from "./TestCluster.ts"

const SETTINGS: Readonly<Record<string, string>> = {
  array_nulls: "off",
  standard_conforming_strings: "off",
  backslash_quote: "on",
  transform_null_equals: "on",
  search_path: '"public"',
  DateStyle: "'SQL, DMY'",
  IntervalStyle: "sql_standard",
  TimeZone: "'Asia/Kathmandu'",
  bytea_output: "escape",
  extra_float_digits: "-15",
  row_security: "off",
  exit_on_error: "on",
  default_transaction_isolation: "'serializable'",
  default_transaction_deferrable: "on",
  lock_timeout: "1",
  jit: "on",
  jit_above_cost: "0",
  plan_cache_mode: "force_custom_plan",
  enable_indexscan: "off",
  enable_indexonlyscan: "off",
  enable_nestloop: "off",
  enable_sort: "off",
  geqo: "off"
}

/** For all connections from now on. */
export const makeHostile = (url: Redacted.Redacted) => {
  const text = Redacted.value(url)
  const name = new URL(text).pathname.slice(1)
  return execute(
    withDatabase(text, "postgres"),
    ...Object.entries(SETTINGS).map(([setting, value]) => `alter database ${name} set ${setting} = ${value}`)
  )
}
