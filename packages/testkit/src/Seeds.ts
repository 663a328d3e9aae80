/** Rows for a test to begin with, as plain as the schema allows, and separate connections. */
import { SqlClient } from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { TestDatabaseUrl } from "./TestDatabaseUrl.ts"

export const workspace = (slug?: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const id = newId("workspace")
    const name = slug ?? `w${id.slice(-12)}`
    yield* sql`insert into posthorn.workspaces (id, slug, name) values (${id}, ${name}, ${name})`
    return { id, slug: name }
  })

/** Enabled, and for every event type by default. */
export const endpoint = (
  workspaceId: string,
  { enabled = true, eventTypes = ["*"] }: { enabled?: boolean; eventTypes?: ReadonlyArray<string> } = {}
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const id = newId("endpoint")
    yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, disabled_reason, secret)
      values (${workspaceId}, ${id}, 'https://example.com/', ${eventTypes}, ${enabled}, ${enabled ? null : "manual"}, '\\x00')`
    return id
  })

/** Runs a query on a separate connection, which closes with the scope. */
export const connectTo = (connectionString: string) =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const made = new pg.Client({ connectionString })
        await made.connect()
        return made
      }),
      (made) => Effect.promise(() => made.end())
    )
    return (text: string, ...values: ReadonlyArray<unknown>) =>
      Effect.promise(async () => (await client.query<Record<string, unknown>>(text, [...values])).rows)
  })

/** The same, to the test's database. */
export const connect = Effect.flatMap(TestDatabaseUrl, (url) => connectTo(Redacted.value(url)))

/** How many rows of the table the current transaction has read so far, by index or not. */
export const readRows = (table: string) => `select (seq_tup_read + idx_tup_fetch)::integer as n
  from pg_stat_xact_user_tables where relid = 'posthorn.${table}'::regclass`

/** Empties the tables of evidence and those that follow them. The triggers that refuse it do not run in a session of a replica. */
export const EMPTY = `do $$ begin
  set local session_replication_role = replica;
  truncate posthorn.workspaces, posthorn.events, posthorn.deliveries, posthorn.attempts, posthorn.queue, posthorn.dead_letters,
    posthorn.attempt_starts, posthorn.failed_deliveries cascade;
  set local session_replication_role = default;
end $$`
