/**
 * The two roles of docker/roles.sql, as an operator creates them: the owner migrates, and everything else runs as a role
 * that can neither change nor remove evidence.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { loopbackTargets } from "@posthorn/domain/AllowedTargets"
import * as Database from "@posthorn/persistence/client/Database"
import { missingRights } from "@posthorn/persistence/operations/DoctorChecks"
import { migrate } from "@posthorn/persistence/operations/Migrator"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { execute, randomName, withDatabase } from "@posthorn/testkit/TestCluster"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import pg from "pg"
import { inject } from "vitest"
import { reEncrypt } from "../../src/roles/ReEncrypt.ts"
import { serverOf } from "../../src/roles/Serve.ts"
import { workerOf } from "../../src/roles/Work.ts"
import { settings } from "../../src/settings/Settings.ts"

const ROLES = fileURLToPath(new URL("../../../../docker/roles.sql", import.meta.url))
const OPERATOR_TOKEN = "operator-token-of-this-test-0001"
const KEY = Buffer.alloc(32, 3).toString("base64")

/** With roles of this test's own, because all databases of a server share roles. */
const rolesSql = (owner: string, run: string) =>
  readFileSync(ROLES, "utf8").replaceAll("posthorn_owner", owner).replaceAll("posthorn_run", run)

const as = (url: string, user: string, password: string) => {
  const other = new URL(url)
  other.username = user
  other.password = password
  return other.href
}

const migrateAs = (owner: string) =>
  Effect.provide(
    migrate,
    Database.layer({ url: Redacted.make(owner), applicationName: "posthorn migrate", maxConnections: 2 })
  )

/**
 * A migrated database with its two roles, until the scope closes. As on a managed PostgreSQL, whoever makes the roles is no
 * superuser but may make roles, and owns the database. The file runs twice: it may be repeated.
 */
const installation = Effect.gen(function* () {
  const { url } = inject("cluster")
  const [name, admin] = [randomName("roles"), randomName("admin")]
  const [owner, run] = [randomName("owner"), randomName("run")]
  const database = withDatabase(url, name)
  yield* Effect.acquireRelease(
    execute(
      url,
      `create role ${admin} login createrole password 'admin'`,
      `create database ${name} owner ${admin}`
    ),
    () =>
      execute(
        url,
        `drop database ${name} with (force)`,
        ...[run, owner, admin].map((role) => `drop role if exists ${role}`)
      )
  )
  const urls = {
    superuser: database,
    admin: as(database, admin, "admin"),
    owner: as(database, owner, "owner"),
    run: as(database, run, "run")
  }
  yield* execute(
    urls.admin,
    rolesSql(owner, run),
    rolesSql(owner, run),
    `alter role ${owner} password 'owner'`,
    `alter role ${run} password 'run'`
  )
  yield* migrateAs(urls.owner)
  return { ...urls, name, role: run, rolesSql: rolesSql(owner, run) }
}).pipe(Effect.orDie)

/** Statements that this connection is refused, with their SQLSTATE. */
const refusals = (url: string, statements: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const codes: Array<string> = []
    for (const statement of statements)
      codes.push(
        await client.query(statement).then(
          () => "done",
          (error) => error.code
        )
      )
    await client.end()
    return codes
  })

/** Tables in which the role deletes through functions only, or never, and whose ids it cannot change. */
const GUARDED = [
  "attempts",
  "audit_events",
  "deliveries",
  "endpoints",
  "events",
  "migrations",
  "operator_audit_events",
  "workspaces"
]

type Json = Readonly<Record<string, unknown>> & { readonly id: string; readonly items: ReadonlyArray<Json> }

const callAt = (base: string) => (method: string, path: string, token: string, body?: unknown) =>
  Effect.promise(async () => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Json }
  })

/** `serve` and `work` as the commands build them, in this process. */
const start = (url: string) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const given = yield* settings
    const resolved = {
      settings: given,
      databaseUrl: Redacted.make(url),
      encryptionKeys: [Redacted.make(new Uint8Array(Buffer.from(KEY, "base64")))],
      operatorTokens: [{ name: null, token: Redacted.make(OPERATOR_TOKEN) }],
      drainSeconds: 0,
      allowedTargets: loopbackTargets,
      port
    }
    yield* Layer.build(Layer.merge(serverOf(resolved), workerOf(resolved)))
    return callAt(`http://127.0.0.1:${port}`)
  }).pipe(
    Effect.withConfigProvider(
      ConfigProvider.fromMap(
        new Map([
          ["DELIVERY_RETRY_DELAY", "20 millis"],
          ["HOST", "127.0.0.1"]
        ])
      )
    )
  )

it.scopedLive(
  "§12 everything runs under a role that is no superuser and owns nothing",
  () =>
    Effect.gen(function* () {
      const { role, run } = yield* installation
      const receiver = yield* makeReceiver()
      const call = yield* start(run)
      const answers: Array<readonly [string, number]> = []
      const did = (name: string, answer: { readonly status: number; readonly body: Json }) => {
        answers.push([name, answer.status])
        return answer.body
      }

      did("workspace", yield* call("POST", "/workspaces", OPERATOR_TOKEN, { slug: "acme", name: "Acme" }))
      const made = did(
        "token",
        yield* call("POST", "/workspaces/acme/api-tokens", OPERATOR_TOKEN, { name: "x", scopes: ["admin"] })
      )
      const token = String(made.token)
      const at = (path: string) => `/workspaces/acme${path}`
      const endpoint = (path: string) =>
        call("POST", at("/webhooks"), token, { url: receiver.url(path), eventTypes: ["invoice.*"] })
      const good = did("endpoint", yield* endpoint("/status/200"))
      const bad = did("endpoint", yield* endpoint("/status/404"))
      did("update", yield* call("PATCH", at(`/webhooks/${good.id}`), token, { description: "x" }))
      did("rotate", yield* call("POST", at(`/webhooks/${good.id}/rotate-secret`), token, {}))
      const published = did(
        "publish",
        yield* call("POST", at("/events"), token, {
          eventType: "invoice.paid",
          payload: 1,
          idempotencyKey: "k"
        })
      )
      yield* receiver.waitFor(2)
      const waiting = Effect.map(
        call("GET", at("/overview"), token),
        ({ body }) => (body.queue as Json).waiting
      )
      yield* Effect.repeat(waiting, { until: (n) => n === 0 }).pipe(Effect.timeout("30 seconds"))
      const failed = yield* call("GET", at(`/webhooks/${bad.id}/deliveries`), token)
      did("replay", yield* call("POST", at(`/webhooks/deliveries/${failed.body.items[0]!.id}/replay`), token))
      did("test", yield* call("POST", at(`/webhooks/${good.id}/test-event`), token))
      for (const path of [
        "/webhooks",
        `/webhooks/${bad.id}/diagnosis`,
        `/webhooks/${good.id}/stats`,
        "/audit-events",
        "/notifications",
        "/webhooks/deliveries",
        "/events",
        "/event-types"
      ])
        did(path, yield* call("GET", at(path), token))
      const delivery = (published.deliveryIds as ReadonlyArray<string>)[0]!
      did("attempts", yield* call("GET", at(`/webhooks/deliveries/${delivery}/attempts`), token))
      did("delete endpoint", yield* call("DELETE", at(`/webhooks/${bad.id}`), token))
      const member = did(
        "member",
        yield* call("POST", at("/members"), token, { email: "a@example.com", name: "A", role: "viewer" })
      )
      did("remove member", yield* call("DELETE", at(`/members/${member.id}`), token))
      did("revoke", yield* call("DELETE", at(`/api-tokens/${made.id}?descendants=true`), OPERATOR_TOKEN))
      did("operator's log", yield* call("GET", "/audit-events", OPERATOR_TOKEN))

      const connection = Database.layer({
        url: Redacted.make(run),
        applicationName: "aside",
        maxConnections: 2
      })
      const removed = yield* Effect.flatMap(Retention.Retention, (retention) => retention.run).pipe(
        Effect.provide(Retention.layer),
        Effect.provide(connection)
      )
      yield* reEncrypt.pipe(
        Effect.withConfigProvider(
          ConfigProvider.fromMap(
            new Map([
              ["DATABASE_URL", run],
              ["ENCRYPTION_KEY", KEY]
            ])
          )
        )
      )
      did("delete workspace", yield* call("DELETE", "/workspaces/acme", OPERATOR_TOKEN))
      const about = yield* Effect.promise(async () => {
        const client = new pg.Client({ connectionString: run })
        await client.connect()
        const { rows } = await client.query(
          `select (select rolsuper from pg_roles where rolname = $1) as superuser,
            (select count(*)::integer from pg_class where relowner = $1::regrole) as owned,
            (select array_agg(relname::text order by relname) from pg_class
              where relnamespace = 'posthorn'::regnamespace and relkind = 'r'
                and not (has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))) as guarded`,
          [role]
        )
        await client.end()
        return rows[0] as unknown
      })

      expect(answers.filter(([, status]) => status >= 300)).toEqual([])
      expect(answers.length).toBeGreaterThan(20)
      expect(removed).toMatchObject({ deliveries: 0 })
      expect(about).toEqual({ superuser: false, owned: 0, guarded: GUARDED })
    }),
  60_000
)

it.scopedLive("§10 doctor finds that the role has every right, and names one that is taken away", () =>
  Effect.gen(function* () {
    const { owner, role, run } = yield* installation
    const connection = Database.layer({
      url: Redacted.make(run),
      applicationName: "posthorn doctor",
      maxConnections: 2
    })
    const missing = Effect.provide(missingRights, connection)
    expect(yield* missing).toEqual([])
    yield* execute(
      owner,
      `revoke delete on posthorn.queue from ${role}`,
      `revoke update (status) on posthorn.deliveries from ${role}`
    )
    expect(yield* missing).toEqual(["delete posthorn.queue", "update posthorn.deliveries (status)"])
  })
)

it.scopedLive("§12 the roles serve a second database of the same server, such as a restored one", () =>
  Effect.gen(function* () {
    const { admin, name, owner, rolesSql } = yield* installation
    const second = `${name}_2`
    yield* Effect.acquireRelease(
      execute(inject("cluster").url, `create database ${second} owner ${new URL(admin).username}`),
      () => execute(inject("cluster").url, `drop database ${second} with (force)`)
    )
    yield* execute(withDatabase(admin, second), rolesSql)
    yield* migrateAs(withDatabase(owner, second))
    // A member could act for the owner, and so rewrite evidence.
    expect(yield* refusals(withDatabase(admin, second), ["delete from posthorn.attempts"])).toEqual(["42501"])
  })
)

it.scopedLive("§12 the role that everything runs as can neither change nor remove evidence", () =>
  Effect.gen(function* () {
    const { owner, role, run, superuser } = yield* installation
    yield* execute(
      superuser,
      "insert into posthorn.workspaces (id, slug, name) values ('wsp_1', 'acme', 'Acme')",
      `insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
        values ('wsp_1', 'whe_1', 'https://example.com/', '{*}', true, '\\x00')`,
      `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
        values ('wsp_1', 'whd_1', 'whe_1', 'a.b', '1', 't', now())`,
      `insert into posthorn.attempts (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, url, request_headers,
        trace_id) values ('wsp_1', 'whd_1', 1, 'wha_1', 'delivered', now(), 1, 'https://example.com/', '{}', 't')`,
      `insert into posthorn.audit_events (workspace_id, action, actor_type, actor_id, via, target_type, target_id, trace_id)
        values ('wsp_1', 'workspace.created', 'operator', 'operator', 'rest', 'workspace', 'wsp_1', 't')`,
      // A schema of the role's own, with an operator that finds no two ids equal: it must not affect the triggers.
      `create schema evil authorization ${role}`,
      `create function evil.never(text, text) returns boolean language sql immutable return false`,
      `create operator evil.= (leftarg = text, rightarg = text, function = evil.never)`
    )

    const codes = yield* refusals(run, [
      "update posthorn.attempts set response_body = 'other'",
      "delete from posthorn.attempts",
      "update posthorn.audit_events set actor_id = 'nobody'",
      "delete from posthorn.audit_events",
      "set search_path = evil, pg_catalog",
      "delete from posthorn.audit_events",
      "delete from posthorn.attempts",
      "truncate posthorn.attempts",
      "alter table posthorn.attempts disable trigger all",
      "drop trigger attempts_kept on posthorn.attempts",
      "create or replace function posthorn.refuse_lone_removal() returns trigger language plpgsql as 'begin return null; end'",
      "create function posthorn.mine() returns integer language sql return 1",
      "set session_replication_role = replica",
      // Evidence without its parent would no longer be protected: so the parent must not be renamed, deleted, or made again.
      ...["deliveries", "events", "endpoints", "workspaces"].flatMap((table) => [
        `update posthorn.${table} set id = 'whd_2'`,
        `delete from posthorn.${table}`,
        `truncate posthorn.${table} cascade`
      ]),
      "update posthorn.deliveries set workspace_id = 'wsp_2'",
      "update posthorn.deliveries set endpoint_id = 'whe_2'",
      "update posthorn.events set payload = '2'",
      `insert into posthorn.deliveries select * from posthorn.deliveries
        on conflict (workspace_id, id) do update set id = 'whd_2'`,
      `insert into posthorn.attempts select * from posthorn.attempts
        on conflict (workspace_id, delivery_id, ordinal) do update set duration_ms = 2`,
      "merge into posthorn.attempts a using posthorn.attempts b on a.id = b.id when matched then delete",
      "with gone as (delete from posthorn.audit_events returning 1) select * from gone",
      "create table evil.part partition of posthorn.attempts default",
      "create table evil.child () inherits (posthorn.attempts)",
      "create rule gone as on insert to posthorn.attempts do instead nothing",
      "create trigger mine before insert on posthorn.attempts for each row execute function posthorn.refuse_change()",
      "create table evil.mine (w text, d text, foreign key (w, d) references posthorn.deliveries on delete cascade)",
      "alter function posthorn.remove_history(text, text, integer) security invoker",
      "set role pg_database_owner"
    ])

    const NO_RIGHT = "42501"
    expect(codes).toEqual(codes.map((_, n) => (n === 4 ? "done" : NO_RIGHT)))
    // The owner has the rights, and the triggers refuse it.
    expect(
      yield* refusals(owner, [
        "update posthorn.deliveries set id = 'whd_2'",
        "update posthorn.workspaces set id = 'wsp_2'",
        "update posthorn.attempts set response_body = 'other'",
        "delete from posthorn.attempts",
        "delete from posthorn.audit_events"
      ])
    ).toEqual(Array(5).fill("PH001"))
  })
)
