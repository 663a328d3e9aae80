/** Which migrations `scripts/ci/migrations.ts` accepts, and which it refuses. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { migrations } from "@posthorn/persistence/operations/Migrations"
import { afterAll, describe, expect, it } from "vitest"
import { type File, judge } from "./Judge.ts"
import { lastRelease, migrationsAt } from "./LastRelease.ts"

const released: ReadonlyArray<File> = [
  {
    name: "0001_tables.sql",
    sql: "create table posthorn.events (id text, payload text, n integer);\n"
  },
  {
    name: "0002_check.sql",
    sql: `alter table posthorn.events add constraint n_there check (n is not null) not valid;
      alter table posthorn.events validate constraint n_there;\n`
  }
]

const BESIDE = "-- Runs beside: 0002\n"
const OUTSIDE = `${BESIDE}-- Outside a transaction\n`

const told = (sql: string, head = BESIDE) =>
  judge(released, [...released, { name: "0003_more.sql", sql: `${head}${sql}\n` }])

const TABLE = "alter table posthorn.events"

describe("a migration", () => {
  it.each(
    Object.entries({
      "a new table, and everything on it":
        "create table posthorn.more (id text); create index on posthorn.more (id); update posthorn.more set id = ''; alter table posthorn.more alter column id set not null;",
      "a column without a default": `${TABLE} add column a text;`,
      "a column with a constant default": `${TABLE} add column a text[] not null default '{}'::text[], add column b timestamptz default now(), add column c bigint;`,
      "a constraint that is not validated": `${TABLE} add constraint c check (n > 0) not valid;`,
      "a validation by itself": `${TABLE} validate constraint n_there;`,
      "a column that a validated constraint says is never null": `${TABLE} alter column n set not null;`,
      "a uniqueness whose index is there": `${TABLE} add constraint u unique using index u_index;`,
      "a function":
        "create or replace function posthorn.f() returns void language sql as 'delete from posthorn.events';",
      "a few rows by value": "insert into posthorn.events values ('a', 'b', 1);",
      "a removal that programs of the last release bear": `${TABLE} drop column n; drop function posthorn.f(); drop table posthorn.events;`,
      "a statement with a reason":
        "-- Allowed: there is one row for each workspace.\nupdate posthorn.events set n = 0;"
    })
  )("§9 may hold %s", async (_, sql) => {
    expect(await told(sql)).toEqual([])
  })

  it.each(
    Object.entries({
      "an index on a big table": ["create index on posthorn.events (n);", "create it concurrently"],
      "a concurrent index in a transaction": [
        "create index concurrently i on posthorn.events (n);",
        "Outside a transaction"
      ],
      "a dropped index": ["drop index posthorn.i;", "drop it concurrently"],
      "another type": [`${TABLE} alter column n type bigint;`, "writes every row anew"],
      "a volatile default": [`${TABLE} add column r float default random();`, "not a constant"],
      "a generated column": [
        `${TABLE} add column g integer generated always as (n + 1) stored;`,
        "generated"
      ],
      "a serial column": [`${TABLE} add column s bigserial;`, "serial"],
      "a column that is not null, without default": [
        `${TABLE} add column a text not null;`,
        "constant default"
      ],
      "a column with a check": [`${TABLE} add column a integer check (a > 0);`, "by itself, not valid"],
      "a column of a type with rules": [`${TABLE} add column a posthorn.positive;`, "check every row"],
      "a column that shall not be null": [
        `${TABLE} alter column payload set not null;`,
        "not valid`, then validate it"
      ],
      "a foreign key": [`${TABLE} add foreign key (id) references posthorn.more (id);`, "not valid"],
      "a check": [`${TABLE} add constraint c check (n > 0);`, "not valid"],
      "a check and its validation in one": [
        `${TABLE} add constraint c check (n > 0) not valid; ${TABLE} validate constraint c;`,
        "a migration of its own"
      ],
      "a uniqueness": [`${TABLE} add unique (n);`, "unique using index"],
      "a primary key": [`${TABLE} add primary key (id);`, "builds an index"],
      "changed rows": ["update posthorn.events set n = 0 where id = 'a';", "in passes"],
      "removed rows": ["delete from posthorn.events;", "in passes"],
      "copied rows": ["insert into posthorn.events select * from posthorn.events;", "in passes"],
      "what nobody can foresee": ["do $$ begin perform 1; end $$;", "not known to be short"],
      "a table that is emptied": ["truncate posthorn.events;", "not known to be short"],
      "a table that is written anew": ["cluster posthorn.events using i;", "not known to be short"],
      "a lock": ["lock table posthorn.events;", "not known to be short"],
      "another kind of storage": [`${TABLE} set unlogged;`, "not known to be short"],
      "a reason that is none": ["-- Allowed: yes\nupdate posthorn.events set n = 0;", "in passes"]
    })
  )("§9 may not hold %s", async (_, [sql, why]) => {
    const problems = await told(sql!)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(/^0003_more\.sql:\d+: /)
    expect(problems[0]).toContain(why)
  })

  it("§9 makes indexes outside a transaction, in a file that can be run again", async () => {
    const anew =
      "drop index concurrently if exists posthorn.i;\ncreate index concurrently i on posthorn.events (n);"
    expect(await told(anew, OUTSIDE)).toEqual([])
    expect(await told("drop index concurrently posthorn.i;", OUTSIDE)).toEqual([
      "0003_more.sql:3: run again after an interruption it would fail: `if exists`"
    ])
    expect(await told(`${TABLE} add column a text;`, OUTSIDE)).toEqual([
      "0003_more.sql:3: only indexes and validation stand outside a transaction"
    ])
    expect(await told(anew.replace("\n", " "), OUTSIDE)).toEqual([
      expect.stringContaining("each statement ends its line")
    ])
  })

  it("§9 says which programs may run beside it, and includes those of the last release", async () => {
    expect(await told("create table posthorn.more (id text);", "")).toEqual([
      expect.stringContaining("begin with `-- Runs beside: 0002`")
    ])
    expect(await told("create table posthorn.more (id text);", "-- Runs beside: 0003\n")).toEqual([
      expect.stringContaining("make the change in two releases")
    ])
    for (const removal of [
      `${TABLE} drop column n;`,
      `${TABLE} rename to other;`,
      "drop function posthorn.f();"
    ])
      expect(await told(removal, "-- Runs beside: 0001\n")).toEqual([
        expect.stringContaining("an older release than the last may still use it")
      ])
  })

  it("§9 is numbered in order, and stays as it is once it is released", async () => {
    const [first, second] = released
    expect(await judge(released, [first!, { ...second!, sql: "select 1;" }])).toEqual([
      expect.stringMatching(/^0002_check\.sql: it is released/)
    ])
    expect(await judge(released, [first!])).toEqual([
      expect.stringMatching(/^0002_check\.sql: it is released/)
    ])
    expect(
      await judge(released, [...released, { name: "0004_more.sql", sql: `${BESIDE}select 1;` }])
    ).toContainEqual(expect.stringContaining("0003_words.sql"))
  })
})

describe("the last release", () => {
  const root = mkdtempSync(join(tmpdir(), "posthorn-tags-"))
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("git", ["-C", root, "-c", "user.name=A", "-c", "user.email=a@example.com", ...args])
  const commit = (name: string) => {
    mkdirSync(join(root, "packages/persistence/migrations"), { recursive: true })
    writeFileSync(join(root, "packages/persistence/migrations", name), `-- ${name}\n`)
    git("add", ".")
    git("commit", "--quiet", "--message", name)
  }

  it("§9 is the newest version that leads to what is checked out", () => {
    git("init", "--quiet", "--initial-branch=main")
    commit("0001_a.sql")
    expect(lastRelease(root)).toBeUndefined()
    git("tag", "v0.9.0")
    git("tag", "vague")
    commit("0002_b.sql")
    git("tag", "v0.10.0")
    commit("0003_c.sql")
    git("switch", "--quiet", "--create", "aside", "v0.9.0")
    commit("0002_x.sql")
    git("tag", "v3.0.0")
    git("switch", "--quiet", "main")

    expect(lastRelease(root)).toBe("v0.10.0")
    expect(migrationsAt(root, "v0.10.0")).toEqual([
      { name: "0001_a.sql", sql: "-- 0001_a.sql\n" },
      { name: "0002_b.sql", sql: "-- 0002_b.sql\n" }
    ])
  })

  it("§9 judges the migrations of this repository as they are: all of them, as if they were released", async () => {
    const all = migrations.map(({ name, sql, version }) => ({
      name: `${String(version).padStart(4, "0")}_${name}.sql`,
      sql
    }))
    expect(await judge(all, all)).toEqual([])
    expect((await judge(all.slice(0, 3), all)).length).toBeGreaterThan(3)
  })
})
