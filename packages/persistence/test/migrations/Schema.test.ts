import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"

/** Keys and indexes that do not lead with workspace_id, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  workspaces_pkey: "the directory of workspaces itself",
  audit_events_keys: "a process keeps the public keys of all workspaces",
  workspaces_slug_key: "the directory: the slug of a path tells the workspace",
  api_tokens_lookup: "the token tells the workspace",
  operator_audit_events_pkey: "the operator's log outlives workspaces",
  operator_audit_events_newest: "the operator's log outlives workspaces",
  console_links_lookup: "the code tells the workspace",
  queue_due: "the claim serves all workspaces at once",
  replays_running: "workers look for the jobs of all workspaces at once",
  installation_pkey: "the installation's, not a workspace's",
  catalogue_pkey: "the installation's, not a workspace's",
  alert_hours_oldest: "hours of all workspaces end at once",
  alerts_age: "what is too old goes from all workspaces at once",
  deviations_day: "what is too old goes from all workspaces at once",
  deviations_of_type: "the operator sees those of all workspaces",
  event_types_pkey: "the installation's, not a workspace's",
  migrations_pkey: "belongs to the program, not to a workspace",
  daily_runs_pkey: "belongs to the program, not to a workspace",
  hourly_rollups_hour: "what is too old goes from all workspaces at once",
  stale_hours_hour: "what is too old goes from all workspaces at once",
  ended_hours_pkey: "belongs to the program, not to a workspace",
  shards_pkey: "belongs to the workers, not to a workspace"
}

/** Tables whose rows belong to no workspace, or, like idempotent_answers, some of whose rows are the operator's. */
const PROGRAM_TABLES =
  "catalogue daily_runs ended_hours event_types idempotent_answers installation migrations operator_audit_events shards workspaces"

layer(TestPg, { excludeTestServices: true })("the schema", (it) => {
  it.effect("§3.4 leads every key and index with the workspace, except the listed ones", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const indexes = yield* sql<{ name: string; first: string }>`
        select c.relname as name, pg_get_indexdef(i.indexrelid, 1, true) as first
        from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relnamespace = 'posthorn'::regnamespace order by 1`

      const others = indexes.filter(({ first }) => first !== "workspace_id").map(({ name }) => name)
      expect(others.sort()).toEqual(Object.keys(EXCEPTIONS).sort())
      expect(indexes.length).toBeGreaterThan(20)
    })
  )

  it.effect("§12 lets every table be part of a publication for all tables", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      // Without a primary key or a replica identity, updates and deletes of a published table fail.
      const unpublishable = yield* sql<{ name: string }>`
        select c.relname as name from pg_class c
        where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'r' and c.relreplident <> 'f'
          and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`
      expect(unpublishable).toEqual([])
    })
  )

  it.effect("§3.4 leads every foreign key with the workspace, and gives it an index to cascade by", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const keys = yield* sql<{
        name: string
        columns: ReadonlyArray<string>
        indexed: boolean
        action: string
      }>`
        select k.conrelid::regclass || '.' || k.conname as name, k.confdeltype::text as action,
          array(select a.attname::text from unnest(k.conkey) with ordinality as n(num, position)
                join pg_attribute a on a.attrelid = k.conrelid and a.attnum = n.num order by position) as columns,
          exists (select from pg_index i where i.indrelid = k.conrelid and i.indpred is null
                  and (i.indkey::smallint[])[0:cardinality(k.conkey) - 1] @> k.conkey) as indexed
        from pg_constraint k
        where k.contype = 'f' and k.connamespace = 'posthorn'::regnamespace`

      expect(keys.length).toBeGreaterThan(10)
      for (const { action, columns, indexed, name } of keys) {
        expect(columns[0], name).toBe("workspace_id")
        expect([name, action, indexed]).toEqual([name, "c", true])
      }
    })
  )

  it.effect("§12 has a workspace on every row, so that deleting it leaves nothing behind", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const tables = yield* sql<{ name: string; scoped: boolean; reaches: boolean }>`
        with recursive follows as (
          select confrelid as leader, conrelid as follower from pg_constraint where contype = 'f' and confdeltype = 'c'
          union all
          -- Not by a foreign key, for its price: migrations/0001_tables.sql.
          select tgrelid, ('posthorn.' || follower)::regclass from pg_trigger join (values
            ('attempts_follow', 'attempts'), ('failed_deliveries_follow', 'failed_deliveries'),
            ('rollups_follow', 'hourly_rollups'), ('rollups_follow', 'stale_hours'), ('queue_follows', 'queue'),
            ('deliveries_follow', 'deliveries'), ('deliveries_follow', 'attempt_starts'), ('deliveries_follow', 'missed_events'), ('events_follow', 'events')) v(name, follower) on tgname = name
        ), held as (
          select 'posthorn.workspaces'::regclass::oid as oid
          union
          select follower from follows join held on leader = held.oid
        )
        select c.relname as name, c.oid in (select oid from held) as reaches,
          exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'workspace_id' and a.attnotnull)
            as scoped
        from pg_class c where c.relkind = 'r' and c.relnamespace = 'posthorn'::regnamespace`

      for (const { name, reaches, scoped } of tables) {
        const program = PROGRAM_TABLES.split(" ").includes(name)
        expect([name, scoped, reaches || program]).toEqual([name, !program, true])
      }
    })
  )

  it.effect("§12 functions use no name that a caller could shadow", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      // Either the names were bound at its creation, or it has a search path of its own, with temporary names last.
      const functions = yield* sql<{ name: string; bound: boolean }>`
        select proname::text as name, prosqlbody is not null or exists (
          select from unnest(proconfig) as setting
          where setting ~ '^search_path=pg_catalog, (posthorn, )?pg_temp$') as bound
        from pg_proc where pronamespace = 'posthorn'::regnamespace`

      expect(functions.filter(({ bound }) => !bound)).toEqual([])
      expect(functions.length).toBeGreaterThan(30)
    })
  )

  it.effect("§12 stores createdAt to the millisecond everywhere", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const finer = yield* sql<{ name: string }>`
        select table_name || '.' || column_name as name from information_schema.columns
        where table_schema = 'posthorn' and data_type = 'timestamp with time zone' and datetime_precision > 3`

      expect(finer.map(({ name }) => name)).toEqual(["queue.due_at"])
    })
  )
})
