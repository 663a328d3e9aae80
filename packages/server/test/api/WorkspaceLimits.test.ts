/** Limits of one workspace: endpoints, tokens, deliveries of one call, and the server's connections. */

import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import { sqlProblemOf } from "@posthorn/persistence/client/Statement"
import { checkQuotas, writeQuotas } from "@posthorn/persistence/operations/Quotas"
import { rows } from "@posthorn/testkit/Sql"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { freshDatabase, type TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Layer } from "effect"
import { connect, makeEndpoint } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, TestServer, testServer } from "../TestServer.ts"

const statuses = (answers: ReadonlyArray<{ readonly status: number }>) =>
  answers.map(({ status }) => status).toSorted()
const endpoint = { url: "https://example.com/hooks", eventTypes: ["*"] }
const together = { concurrency: "unbounded" } as const

/** Endpoints that match every event, made concurrently. */
const addEndpoints = (ws: Entered, count: number, enabled = true) =>
  rows`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, disabled_reason, secret)
      select ${ws.workspaceId}, 'whe_' || lpad(n::text, 29, '0'), 'https://example.com/', '{*}', ${enabled},
        case when not ${enabled} then 'manual' end, '\\x00' from generate_series(1, ${count}::integer) as n`.pipe(
    Effect.orDie
  )

const countOf = (ws: Entered, table: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{
        n: number
      }>`select count(*) as n from ${sql.literal(`posthorn.${table}`)} where workspace_id = ${ws.workspaceId}`,
      ([row]) => row!.n
    )
  ).pipe(Effect.orDie)

const batch = (count: number) => ({
  events: Array.from({ length: count }, (_, n) => ({ eventType: "invoice.paid", payload: n }))
})

layer(testServer(), { excludeTestServices: true })("the limits of a workspace", (it) => {
  it.effect("§5.2 holds 500 endpoints, also disabled ones: of two creates at 499 one succeeds", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* addEndpoints(ws, 499, false)
      const create = ws.call("POST", "/webhooks", { body: endpoint })

      // Inserts wait until all four have come as far as they can: to their own insert, or behind one that counts.
      const aside = yield* connect
      yield* Effect.promise(() => aside.query("begin; lock table posthorn.endpoints in share mode"))
      const creating = yield* Effect.fork(Effect.all([create, create, create, create], together))
      const waiting = rows`select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
      yield* Effect.repeat(waiting, { until: (held) => held.length === 4 }).pipe(Effect.timeout("30 seconds"))
      yield* Effect.promise(() => aside.query("rollback"))
      const answers = yield* Fiber.join(creating)
      const refused = answers.find(({ status }) => status === 409)!

      expect(statuses(answers)).toEqual([201, 409, 409, 409])
      expect(refused.body).toMatchObject({ _tag: "LimitReached", limit: 500, of: "endpoints" })
      expect(yield* countOf(ws, "endpoints")).toBe(500)
    }).pipe(Effect.scoped)
  )

  it.effect("§5.2 makes room when an endpoint is deleted, and counts no other workspace's", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const { url } = yield* TestServer
      const first = yield* makeEndpoint(ws)
      yield* addEndpoints(ws, 499)

      const full = yield* callTool(url, ws.token, "create_webhook_endpoint", endpoint)
      const elsewhere = yield* other.call("POST", "/webhooks", { body: endpoint })
      yield* ws.call("DELETE", `/webhooks/${first}`)
      const again = yield* ws.call("POST", "/webhooks", { body: endpoint })

      expect(JSON.parse(full.content[0]!.text)).toMatchObject({ _tag: "LimitReached", of: "endpoints" })
      expect([elsewhere.status, again.status]).toEqual([201, 201])
    })
  )

  it.effect("§5.2 holds 1,000 valid tokens, however many were revoked or expired", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      // Together with the workspace's first token 999, and 300 that are no longer valid.
      yield* sql`insert into posthorn.api_tokens (workspace_id, id, name, scopes, secret_hash, revoked_at, expires_at)
        select ${ws.workspaceId}, 'tok_' || lpad(n::text, 29, '0'), 'x', '{read}', decode(repeat('00', 32), 'hex'),
          case when n % 2 = 0 and n > 998 then now() end, case when n % 2 = 1 and n > 998 then now() end
        from generate_series(1, 1298) as n`
      const create = ws.call<{ readonly id: string; readonly _tag: string }>("POST", "/api-tokens", {
        body: { name: "x", scopes: ["read"] }
      })

      const answers = yield* Effect.all([create, create, create], together)
      const made = answers.find(({ status }) => status === 201)!
      const refused = answers.find(({ status }) => status === 409)!
      yield* ws.call("DELETE", `/api-tokens/${made.body.id}`)
      const again = yield* create

      expect(statuses(answers)).toEqual([201, 409, 409])
      expect(refused.body).toMatchObject({ _tag: "LimitReached", limit: 1000, of: "tokens" })
      expect(again.status).toBe(201)
    })
  )

  it.effect(
    "§5.2 makes at most 20,000 deliveries for one call, and none for a call that would make more",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        yield* addEndpoints(ws, 200)

        const most = yield* ws.call<{
          readonly items: ReadonlyArray<{ readonly deliveryIds: ReadonlyArray<string> }>
        }>("POST", "/events/batch", { body: batch(100) })
        const before = [yield* countOf(ws, "events"), yield* countOf(ws, "deliveries")]
        const more = yield* ws.call("POST", "/events/batch", { body: batch(101) })
        const tool = yield* callTool(url, ws.token, "publish_events", batch(101))

        expect(most.status).toBe(202)
        expect(most.body.items.flatMap(({ deliveryIds }) => deliveryIds)).toHaveLength(20_000)
        expect(before[1]).toBe(20_000)
        expect(more).toMatchObject({
          status: 400,
          body: {
            _tag: "InvalidRequest",
            issues: [
              {
                path: "/events",
                message:
                  "This would make 20200 deliveries, and one call may make 20000: publish fewer events at once"
              }
            ]
          }
        })
        expect(JSON.parse(tool.content[0]!.text)).toMatchObject({ issues: [{ path: "/events" }] })
        expect([yield* countOf(ws, "events"), yield* countOf(ws, "deliveries")]).toEqual(before)
      })
  )
})

layer(testServer({ workspaceLimits: { fanOut: 3 } }), { excludeTestServices: true })(
  "a small fan-out",
  (it) => {
    it.effect("§5.2 names the event type of a single publish that would make too many deliveries", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        yield* addEndpoints(ws, 3)
        const publish = ws.call("POST", "/events", { body: { eventType: "invoice.paid", payload: 1 } })

        const most = yield* publish
        yield* makeEndpoint(ws, { enabled: false })
        const besideDisabled = yield* publish
        yield* makeEndpoint(ws)
        const before = yield* countOf(ws, "events")
        const more = yield* publish

        expect([most.status, besideDisabled.status]).toEqual([202, 202])
        expect(more).toMatchObject({ status: 400, body: { issues: [{ path: "/eventType" }] } })
        expect(yield* countOf(ws, "events")).toBe(before)
      })
    )
  }
)

layer(testServer(), { excludeTestServices: true })("the quotas of a workspace", (it) => {
  const event = { eventType: "invoice.paid", payload: "twelve bytes" }
  const quotas = (waiting: number | null, bytes: number | null) =>
    Effect.zipRight(writeQuotas({ waiting, bytes }), checkQuotas).pipe(Effect.orDie)
  const publishInSql = ({ slug }: Entered, key: string | null = null) =>
    rows`select id from posthorn.publish(${slug}, 'invoice.paid', '1', ${key})`.pipe(
      Effect.as("published"),
      Effect.catchAll((error) => Effect.succeed(sqlProblemOf(error).code))
    )

  it.effect("§5.2 refuses to publish while the maximum of deliveries waits, over REST, MCP and SQL", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      for (const each of [ws, other]) yield* makeEndpoint(each)
      const keyed = { ...event, idempotencyKey: "first" }
      const first = yield* ws.call("POST", "/events", { body: keyed })
      yield* ws.call("POST", "/events/batch", { body: batch(2) })
      yield* quotas(3, null)
      const before = yield* countOf(ws, "events")

      const refused = yield* ws.call("POST", "/events", { body: event })
      const refusedBatch = yield* ws.call("POST", "/events/batch", { body: batch(2) })
      const tool = yield* callTool((yield* TestServer).url, ws.token, "publish_event", event)
      expect(refused).toMatchObject({ status: 429, body: { _tag: "QuotaExceeded", quota: "waiting" } })
      expect(refusedBatch).toMatchObject({ status: 429, body: { quota: "waiting" } })
      expect(JSON.parse(tool.content[0]!.text)).toMatchObject({ _tag: "QuotaExceeded", quota: "waiting" })
      expect([yield* publishInSql(ws), yield* publishInSql(ws, "k")]).toEqual(["PH429", "PH429"])
      expect(yield* countOf(ws, "events")).toBe(before)

      // Repeated publishes are answered as before; other workspaces, and events that nobody matches, are accepted.
      expect((yield* ws.call("POST", "/events", { body: keyed })).body).toEqual({
        ...first.body,
        duplicate: true
      })
      expect((yield* other.call("POST", "/events", { body: event })).status).toBe(202)
      const sql = yield* SqlClient
      yield* sql`update posthorn.endpoints set enabled = false, disabled_reason = 'manual'
        where workspace_id = ${ws.workspaceId}`
      expect((yield* ws.call("POST", "/events", { body: event })).status).toBe(202)
      yield* sql`update posthorn.endpoints set enabled = true, disabled_reason = null
        where workspace_id = ${ws.workspaceId}`

      yield* sql`delete from posthorn.queue where delivery_id = (
        select delivery_id from posthorn.queue where workspace_id = ${ws.workspaceId} limit 1)`
      yield* checkQuotas
      expect((yield* ws.call("POST", "/events", { body: event })).status).toBe(202)
      yield* quotas(null, null)
    }).pipe(Effect.orDie)
  )

  it.effect("§5.2 refuses to publish while the maximum of bytes is stored, by a workspace's own quota", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      yield* sql`update posthorn.workspaces w set bytes_limit = 40 + (
        select sum(octet_length(payload)) from posthorn.events where workspace_id = w.id) where id = ${ws.workspaceId}`
      const publish = Effect.zipRight(checkQuotas, ws.call("POST", "/events", { body: event }))

      const answers = yield* Effect.replicateEffect(publish, 4)

      // Three payloads of 14 bytes.
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 429])
      expect(answers[3]!.body).toMatchObject({ _tag: "QuotaExceeded", quota: "bytes" })
    }).pipe(Effect.orDie)
  )
})

/** The same settings as `serve`. */
const CONNECTIONS = 6
const asServed: typeof TestPg = Layer.unwrapEffect(
  Effect.map(TestDatabaseUrl, (url) =>
    Database.layer({
      url,
      applicationName: "posthorn serve",
      maxConnections: CONNECTIONS,
      perWorkspace: CONNECTIONS / 3,
      statementTimeout: "12 seconds"
    })
  )
).pipe(Layer.orDie, Layer.provideMerge(Layer.scoped(TestDatabaseUrl, freshDatabase)))

layer(testServer({ database: asServed }), { excludeTestServices: true })("one tenant among others", (it) => {
  it.effect(
    "§5.2 120 endpoints and 24 batches of 1,000 at once cause refusals in their own workspace only",
    () =>
      Effect.gen(function* () {
        const [attacker, other] = [yield* entered, yield* entered]
        yield* addEndpoints(attacker, 120)
        yield* makeEndpoint(other)
        const attack = attacker.call("POST", "/events/batch", { body: batch(1000) })

        const attacking = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 24 }, () => attack),
            together
          )
        )
        const served = yield* Effect.all(
          Array.from({ length: 20 }, (_, n) =>
            n % 2 === 0
              ? other.call("POST", "/events", { body: { eventType: "invoice.paid", payload: n } })
              : other.call("GET", "/overview")
          )
        )
        const attacked = yield* Fiber.join(attacking)

        expect(new Set(served.map(({ status }) => status))).toEqual(new Set([200, 202]))
        expect(statuses(attacked)).toEqual(Array(24).fill(400))
        expect(yield* countOf(attacker, "deliveries")).toBe(0)
      }),
    60_000
  )

  it.effect("§5.2 statements of one workspace hold at most a third of the connections", () =>
    Effect.gen(function* () {
      const [greedy, other] = [yield* entered, yield* entered]
      const url = yield* TestDatabaseUrl
      const aside = yield* Layer.build(Database.layer({ url, applicationName: "aside", maxConnections: 2 }))
      const endpointId = yield* makeEndpoint(greedy)
      // Each waits for the endpoint, with a connection or for one of its share.
      const patch = greedy.call("PATCH", `/webhooks/${endpointId}`, { body: { description: "x" } })
      const waiting = rows<{ n: number }>`select count(*) as n from pg_stat_activity
          where application_name = 'posthorn serve' and wait_event_type = 'Lock' and datname = current_database()`.pipe(
        Effect.map(([row]) => row!.n)
      )

      const patches = yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* sql`select from posthorn.endpoints where id = ${endpointId} for update`
        const patches = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 12 }, () => patch),
            together
          )
        )
        yield* Effect.repeat(waiting, { until: (n) => n === CONNECTIONS / 3 }).pipe(
          Effect.timeout("30 seconds")
        )
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => other.call("GET", "/overview")),
          together
        )
        expect(statuses(answers)).toEqual(Array(8).fill(200))
        expect(yield* waiting).toBe(CONNECTIONS / 3)
        return patches
      }).pipe((self) => Effect.flatMap(SqlClient, (sql) => sql.withTransaction(self)), Effect.provide(aside))

      expect(statuses(yield* Fiber.join(patches)).filter((status) => status !== 503)).toContain(200)
    }).pipe(Effect.scoped)
  )

  it.effect("§5.2 ends a statement before its answer would be due", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const [shown] = yield* sql<{ statement_timeout: string }>`show statement_timeout`

      expect(shown!.statement_timeout).toBe("12s")
    })
  )
})
