/** `posthorn doctor`, `posthorn config` and `.env.example`, as an operator uses them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Environment, makeBundle, runCommand } from "@posthorn/testkit/Command"
import * as Pooler from "@posthorn/testkit/Pooler"
import { execute, randomName, withDatabase } from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { summaryOf } from "../../src/doctor/Finding.ts"
import { envExample } from "../../src/settings/EnvExample.ts"
import { variables } from "../../src/settings/Variables.ts"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const KEY = Buffer.alloc(32, 3).toString("base64")
const CLASS = 7_067_002

const { url: cluster } = inject("cluster")
const name = randomName("doctor")
const database = withDatabase(cluster, name)
const run = (...statements: ReadonlyArray<string>) => Effect.runPromise(execute(database, ...statements))

const doctor = (environment: Environment = {}) =>
  runCommand(["doctor"], { DATABASE_URL: database, ENCRYPTION_KEY: KEY, ...environment })

beforeAll(async () => {
  await makeBundle()
  await Effect.runPromise(execute(cluster, `create database ${name}`))
}, 60_000)

afterAll(() => Effect.runPromise(execute(cluster, `drop database ${name} with (force)`)))

describe("posthorn doctor", () => {
  it("says what is missing before the first migration, and asks no further", async () => {
    const { code, out } = await doctor()
    expect(code).toBe(1)
    expect(out).toMatch(/✗ migrations +\d+ missing: run posthorn migrate\./)
    expect(out).not.toContain("workers")
  })

  // The test's own PostgreSQL has fsync off, which doctor reports.
  it("finds nothing else wrong with a new installation, except that no worker runs", async () => {
    expect((await runCommand(["migrate"], { DATABASE_URL: database })).code).toBe(0)
    const { code, out } = await doctor()
    expect(out).toContain("– workers        none is running")
    expect(out).toContain("✓ sessions       a session stays one")
    expect(out.match(/✗.*/g)).toEqual([expect.stringContaining("durability     fsync off")])
    expect([code, out]).toEqual([1, expect.stringContaining("1 thing to mend.")])
  })

  it("names foreign sessions, weak durability, and endpoints that reach nobody", async () => {
    await run(
      `create role ${name}_foreign login password 'foreign'`,
      `insert into posthorn.workspaces (id, slug, name) values ('wsp_1', 'acme', 'Acme')`,
      `insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret, consecutive_failures)
        values ('wsp_1', 'whe_1', 'https://gone.example.com/in', '{*}', true, '\\x00', 3)`,
      `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status, attempts,
        last_failure_reason, last_attempt_at, created_at) values ('wsp_1', 'whd_1', 'whe_1', 'a.b', '{}', 't', 'failed', 3,
        'tls_failed', now(), now())`,
      `alter database ${name} set synchronous_commit = off`
    )
    const as = new URL(database)
    as.username = `${name}_foreign`
    as.password = "foreign"
    const holder = new pg.Client({ connectionString: as.href, application_name: "a script of somebody" })
    await holder.connect()
    await holder.query(`select pg_advisory_lock(${CLASS}, n) from generate_series(0, 3) as n`)
    const { code, out } = await doctor()
    await holder.end()

    expect(code).toBe(1)
    expect(out).toMatch(
      /✗ durability +fsync \w+, synchronous_commit off: events that were acknowledged can be lost/
    )
    expect(out).toMatch(/– receivers +whe_1 gone\.example\.com: The TLS handshake failed/)
    expect(out).toMatch(/✗ keys +ENCRYPTION_KEY opens 0 of 1/)
    await run(`alter database ${name} reset synchronous_commit`, `drop role ${name}_foreign`)
  })

  it.skipIf(!Pooler.isThere())("§10 finds a pooler in transaction mode; work does not start behind it", () =>
    Effect.gen(function* () {
      const behind = yield* Pooler.pooled(database)
      const { out } = yield* Effect.promise(() => doctor({ DATABASE_URL: behind }))
      const worker = yield* Effect.promise(() =>
        runCommand(["work"], { DATABASE_URL: behind, ENCRYPTION_KEY: KEY })
      )

      expect(out).toMatch(/✗ sessions +behind a pooler that gives each transaction another session/)
      expect(worker.err).toMatch(
        /a pooler .* Set the pooler to session mode, or name the database's direct address/
      )
      expect([worker.code, worker.out]).toEqual([1, ""])
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  it("names the rights that a role lacks", async () => {
    const role = `${name}_run`
    await run(
      `create role ${role} login password 'run'`,
      `grant usage on schema posthorn to ${role}`,
      `grant select, insert, update, delete on all tables in schema posthorn to ${role}`,
      `grant execute on all functions in schema posthorn to ${role}`,
      `revoke update on posthorn.queue from ${role}`
    )
    const as = new URL(database)
    as.username = role
    as.password = "run"
    const { code, out } = await doctor({ DATABASE_URL: as.href })
    await run(`drop owned by ${role}`, `drop role ${role}`)

    expect(out).toMatch(/✗ rights +missing: update posthorn\.queue\. See docker\/roles\.sql\./)
    expect(out).toContain(`✓ role           ${role}`)
    expect(code).toBe(1)
  })

  it("§10 prints all findings in one document, for programs", async () => {
    const secret = "hunter7"
    const { code, err, out } = await runCommand(["doctor", "--json"], {
      DATABASE_URL: database,
      ENCRYPTION_KEY: KEY,
      REDIS_URL: `redis://:${secret}@127.0.0.1:1`,
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      DELIVERY_PROXY: `http://posthorn:${secret}@127.0.0.1:1`,
      DATABASE_URI: secret,
      OPERATR_TOKEN: secret
    })
    const { exitCode, findings, verdict } = JSON.parse(out)

    expect([code, exitCode, verdict, err]).toEqual([1, 1, "wrong", ""])
    for (const finding of findings)
      expect(finding).toEqual({
        verdict: expect.stringMatching(/^(well|note|warning|wrong)$/),
        about: expect.stringMatching(/^[a-z]+$/),
        code: expect.stringMatching(/^[a-z_]+$/),
        text: expect.any(String)
      })
    const found = findings.map((finding: { verdict: string; code: string }) => [
      finding.verdict,
      finding.code
    ])
    expect(found).toEqual(
      expect.arrayContaining([
        ["wrong", "not_durable"],
        ["warning", "redis_away"],
        ["warning", "collector_away"],
        ["wrong", "proxy_away"],
        ["well", "disk"]
      ])
    )
    expect(found.filter(([, code]: [string, string]) => code === "unknown_variable")).toHaveLength(2)
    expect(out).not.toContain(secret)
  })

  it("§10 reports wrong settings without their values, and asks nothing", async () => {
    const { code, out } = await runCommand(["doctor", "--json"], { PORT: "hunter8", LOG_LEVEL: "loud" })
    const { findings, verdict } = JSON.parse(out)
    expect([code, verdict, findings.length]).toEqual([1, "wrong", 2])
    expect(out).toContain("PORT must be a whole number")
    expect(out).not.toContain("hunter8")
  })

  it("§10 warns of limits and timeouts that are too tight for it", async () => {
    await run(
      `alter database ${name} connection limit 12`,
      `alter database ${name} set idle_session_timeout = '5s'`,
      `alter database ${name} set idle_in_transaction_session_timeout = '9s'`,
      `alter database ${name} set statement_timeout = '3s'`
    )
    const { out } = await doctor()
    await run(
      `alter database ${name} connection limit -1`,
      ...["idle_session_timeout", "idle_in_transaction_session_timeout", "statement_timeout"].map(
        (setting) => `alter database ${name} reset ${setting}`
      )
    )
    const { out: after } = await doctor()

    expect(out.match(/! .*/g)).toEqual([
      expect.stringMatching(
        /connections +the limit of the database \w+ leaves 12: one serve needs 20 and one work 8, and one more/
      ),
      expect.stringMatching(/timeouts +idle_in_transaction_session_timeout is 9 s .*at least 10 s, or 0/),
      expect.stringMatching(/timeouts +idle_session_timeout is 5 s .*at least 60 s, or 0/),
      expect.stringMatching(/timeouts +statement_timeout is 3 s .*at least 12 s, or 0/)
    ])
    expect(after).not.toContain("!")
  })

  it("§10 finds a database that only reads", async () => {
    await run(`alter database ${name} set default_transaction_read_only = on`)
    const { code, out } = await doctor()
    const reset = new pg.Client({ connectionString: cluster })
    await reset.connect()
    await reset.query(`alter database ${name} reset default_transaction_read_only`)
    await reset.end()
    expect(out).toMatch(/✗ database .* accepts no writes: default_transaction_read_only is on/)
    expect(code).toBe(1)
  })

  it("§10 says in words that no connection is left", async () => {
    const role = `${name}_none`
    await run(`create role ${role} login password 'none' connection limit 0`)
    const as = new URL(database)
    as.username = role
    as.password = "none"
    const { out } = await doctor({ DATABASE_URL: as.href })
    await run(`drop role ${role}`)
    expect(out).toContain("it has no connection left for this user: raise max_connections")
  })

  it.each([
    [["well", "note"], "note", 0],
    [["well"], "well", 0],
    [["warning", "note"], "warning", 3],
    [["warning", "wrong", "well"], "wrong", 1]
  ] as const)("§10 %j is %s, exit code %i", (verdicts, verdict, exitCode) => {
    const findings = verdicts.map((one) => ({ verdict: one, about: "", code: "", text: "" }))
    expect(summaryOf(findings)).toEqual({ verdict, exitCode })
  })

  it("§10 accepts no other arguments", async () => {
    expect((await runCommand(["doctor", "--loud"])).code).toBe(2)
    expect((await runCommand(["doctor", "now"])).code).toBe(2)
  })

  it("asks each of several hosts", async () => {
    const several = database.replace(/@([^/]*)\//, "@127.0.0.1:1,$1/")
    const { out } = await doctor({ DATABASE_URL: several })
    expect(out).toContain("✗ hosts          127.0.0.1:1: nothing listens there.")
    expect(out).toMatch(/✓ hosts +[\w.]+:\d+: accepts writes/)
    expect(out).toContain("✓ migrations     up to date")

    const nowhere = await doctor({ DATABASE_URL: "postgresql://u:hunter2@127.0.0.1:1,127.0.0.1:2/x" })
    expect(nowhere.out).toContain(
      "none of its hosts accepts writes (127.0.0.1:1: nothing listens there; 127.0.0.1:2: nothing listens there)."
    )
  })

  it("says in one line that nothing listens, or that nothing is set", async () => {
    expect((await doctor({ DATABASE_URL: "postgresql://u:hunter2@127.0.0.1:1/x" })).out).toContain(
      "✗ database       The database of DATABASE_URL cannot be reached: nothing listens there."
    )
    const { code, out } = await runCommand(["doctor"])
    expect([code, out]).toEqual([1, expect.stringContaining("DATABASE_URL is not set")])
  })
})

describe("posthorn config", () => {
  it("§10 shows each effective setting and its source, and no secret", async () => {
    const { code, out } = await runCommand(["config"], {
      DATABASE_URL:
        "postgresql://posthorn:hunter2@db.example.com:5432/app?sslmode=verify-full&password=hunter3",
      OPERATOR_TOKEN: "a-secret:of-the-operator-1",
      ENCRYPTION_KEY: KEY,
      REDIS_URL: "redis://hunter4@redis.example.com",
      DELIVERY_PROXY: "http://posthorn:hunter6@proxy.example.com:3128",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=hunter5",
      DELIVERY_RETRY_DELAY: "1 second"
    })
    expect(code).toBe(0)
    expect(out).toMatch(
      /^DATABASE_URL=postgresql:\/\/posthorn:\(hidden\)@db\.example\.com:5432\/app\?sslmode=verify-full&password=\(hidden\) +# set$/m
    )
    expect(out).toMatch(/^DELIVERY_RETRY_DELAY=1 second +# set$/m)
    expect(out).toMatch(/^WORKER_BATCH_SIZE=25 +# default$/m)
    expect(out).toMatch(/^BASE_URL= +# not set$/m)
    for (const secret of ["hunter", "a-secret", KEY]) expect(out).not.toContain(secret)
  })

  it("§10 refuses a wrong environment as every command does", async () => {
    const { code, err, out } = await runCommand(["config"], { PORT: "http" })
    expect([code, out]).toEqual([1, ""])
    expect(err).toContain("PORT is")
  })
})

describe("the settings", () => {
  it("§10 are all in .env.example, which is up to date", () => {
    expect(readFileSync(join(root, ".env.example"), "utf8")).toBe(envExample())
  })

  it("§10 are all in docs/settings.md, with the same defaults", () => {
    const guide = readFileSync(join(root, "docs", "settings.md"), "utf8")
    for (const [variable, definition] of Object.entries(variables)) {
      const row = guide.split("\n").find((line) => line.startsWith(`| \`${variable}\` |`))
      expect(row, variable).toBeDefined()
      if ("standard" in definition) expect(row!.split("|")[2], variable).toContain(definition.standard)
    }
  })
})
