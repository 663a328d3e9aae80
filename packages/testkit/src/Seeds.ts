/** The rows that a test begins with, as plain as the schema allows, and a connection of one's own. */
import { SqlClient } from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { TestDatabaseUrl } from "./TestPg.ts"

export const workspace = (slug?: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const id = newId("workspace")
    const name = slug ?? `w${id.slice(-12)}`
    yield* sql`insert into posthorn.workspaces (id, slug, name) values (${id}, ${name}, ${name})`
    return { id, slug: name }
  })

/** Enabled, and for every event type unless told. */
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

/** Asks on a connection of its own, which closes with the scope. */
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

/** Rows of the table that the transaction at hand has read so far, by an index or without one. */
export const readRows = (table: string) => `select (seq_tup_read + idx_tup_fetch)::integer as n
  from pg_stat_xact_user_tables where relid = 'posthorn.${table}'::regclass`
