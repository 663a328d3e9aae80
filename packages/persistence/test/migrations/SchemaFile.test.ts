/**
 * `schema.sql`: the tables, types and functions that all migrations make, for reading. It is generated here from
 * PostgreSQL's catalogue; after a change of the migrations, `npm test -- SchemaFile -u` writes it again.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"

const HEADER = `-- What all migrations together make, for reading: migrations/ is what is run, and has the reasons and the functions' bodies.
-- Written by \`npm test -- SchemaFile -u\`, never by hand.
`

/** Each row is one or several lines of text. */
const TYPES = `
  select format(E'create type posthorn.%s as (\\n%s\\n);', t.typname,
    (select string_agg(format('  %s %s', a.attname, format_type(a.atttypid, a.atttypmod)), E',\\n' order by a.attnum)
     from pg_attribute a where a.attrelid = c.oid and a.attnum > 0)) as text
  from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
  where t.typnamespace = 'posthorn'::regnamespace order by t.typname`

const DOMAINS = `
  select format('create domain posthorn.%s as %s%s %s;', t.typname, format_type(t.typbasetype, t.typtypmod),
    case when t.typcollation <> b.typcollation then format(' collate "%s"', n.collname) end,
    (select string_agg(pg_get_constraintdef(k.oid), ' ' order by k.conname) from pg_constraint k where k.contypid = t.oid)) as text
  from pg_type t join pg_type b on b.oid = t.typbasetype left join pg_collation n on n.oid = t.typcollation
  where t.typnamespace = 'posthorn'::regnamespace and t.typtype = 'd' order by t.typname`

const TABLES = `
  select format(E'create table posthorn.%s (\\n%s\\n)%s;', c.relname,
    (select string_agg('  ' || line, E',\\n' order by rank, line_order, line) from (
      select 1 as rank, a.attnum::integer as line_order, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
        case when a.attcollation not in (0, t.typcollation) then format('collate "%s"', n.collname) end,
        case when a.attnotnull then 'not null' end, 'default ' || pg_get_expr(d.adbin, d.adrelid)) as line
      from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_collation n on n.oid = a.attcollation
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      union all
      select 2, position(k.contype in 'pufc'), format('constraint %s %s', k.conname, pg_get_constraintdef(k.oid))
      from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'f', 'c')
    ) lines),
    ' with (' || array_to_string(c.reloptions, ', ') || ')')
    || coalesce(E'\\n' || (select string_agg(pg_get_indexdef(i.indexrelid) || ';', E'\\n' order by i.indexrelid::regclass::text)
      from pg_index i where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid)), '')
    || coalesce(E'\\n' || (select string_agg(pg_get_triggerdef(t.oid, true) || ';', E'\\n' order by t.tgname)
      from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal), '') as text
  from pg_class c where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'r' order by c.relname`

const FUNCTIONS = `
  select format('-- posthorn.%s(%s)%s', p.proname, pg_get_function_arguments(p.oid),
    ' returns ' || pg_get_function_result(p.oid)) as text
  from pg_proc p where p.pronamespace = 'posthorn'::regnamespace and p.prorettype <> 'trigger'::regtype
  order by p.proname, pg_get_function_arguments(p.oid)`

layer(TestPg)("schema.sql", (it) => {
  it.effect("is what the migrations make", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const textOf = (statement: string, between: string) =>
        Effect.map(sql.unsafe<{ text: string }>(statement), (rows) =>
          rows.map(({ text }) => text).join(between)
        )

      const parts = yield* Effect.all([
        textOf(DOMAINS, "\n").pipe(Effect.map((text) => `${text}\n`)),
        textOf(TABLES, "\n\n"),
        textOf(TYPES, "\n\n"),
        textOf(FUNCTIONS, "\n")
      ])

      yield* Effect.promise(() =>
        expect(`${[HEADER, ...parts].join("\n")}\n`).toMatchFileSnapshot("../../schema.sql")
      )
    })
  )
})
