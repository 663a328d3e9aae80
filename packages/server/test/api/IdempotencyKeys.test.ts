/** `Idempotency-Key` on every POST: one change and one answer, however often the call is repeated and whatever happens. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, entries, keepsAnswers } from "@posthorn/api-contract/Contract"
import { rows } from "@posthorn/testkit/Sql"
import { Effect, Fiber } from "effect"
import { connect, makeEndpoint, unknown } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { makeWorld, pathOf, sampleOf } from "../Samples.ts"
import { type Answer, type Call, type Loose, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const inNewWorkspace = Effect.flatMap(TestServer, ({ enter }) => enter)
const keep = entries.filter(keepsAnswers)
const endpoint = { url: "https://example.com/hooks", eventTypes: ["a"] }

const OWN_HEADERS = ["location", "etag", "cache-control", "content-type"]
const shown = ({ headers, status, text }: Answer<unknown>) => ({
  status,
  text,
  headers: OWN_HEADERS.map((name) => headers.get(name))
})

const keyed = (call: Call, method: string, path: string, key: string, body?: unknown) =>
  call(method, path, { ...(body === undefined ? {} : { body }), headers: { "idempotency-key": key } })

const tagOf = ({ body, status }: Answer<Loose>) => [status, body._tag]
const REUSED = [409, "IdempotencyKeyReused"]
const IN_USE = [409, "IdempotencyKeyInUse"]

layer(testServer(), { excludeTestServices: true })("idempotency keys", (it) => {
  it.effect("§4.3 every POST accepts a key; a publish has its own rule", () =>
    Effect.sync(() => {
      const changesNothing = ["checkAuthentication", "checkEventTypeSchema", "explainSignature", "tryFilter"]
      const posts = entries.filter(({ method, name }) => method === "POST" && !changesNothing.includes(name))

      expect(keep.map(({ name }) => name)).toEqual(
        posts.map(({ name }) => name).filter((name) => name !== "publishEvent")
      )
      expect(keep.length).toBeGreaterThan(6)
    })
  )

  const ask = (entry: ContractEntry) =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const world = yield* makeWorld(ws)
      const { body } = sampleOf(entry, world)
      const token = entry.rules.permission === "operator" ? OPERATOR_TOKEN : ws.token
      return {
        ws,
        once: call(entry.method, pathOf(entry, world), {
          token,
          ...(body === undefined ? {} : { body }),
          headers: { "idempotency-key": `key-of-${entry.name}` }
        })
      }
    })

  for (const entry of keep) {
    it.effect(`§4.3 ${entry.name} again with its key changes nothing and gives the first answer`, () =>
      Effect.gen(function* () {
        const { once, ws } = yield* ask(entry)
        const state = Effect.all([
          ws.call("GET", "/audit-events?limit=200"),
          ws.call("GET", "/webhooks/deliveries?limit=200"),
          ws.call("GET", "/webhooks"),
          ws.call("GET", "/api-tokens?limit=200")
        ]).pipe(
          Effect.map((answers) => answers.map(({ text }) => text.replace(/"lastUsedAt":"[^"]+"/g, "")).join())
        )

        const first = yield* once
        const before = yield* state
        const second = yield* once

        expect(first.status).toBe(entry.successStatus)
        expect(first.headers.get("idempotent-replayed")).toBeNull()
        const text =
          entry.name === "publishEvents"
            ? first.text.replaceAll('"duplicate":false', '"duplicate":true')
            : first.text
        expect(shown(second)).toEqual({ ...shown(first), text })
        expect(second.headers.get("idempotent-replayed")).toBe("true")
        expect(second.headers.get("x-trace-id")).not.toBe(first.headers.get("x-trace-id"))
        expect(yield* state).toBe(before)
      })
    )
  }

  it.effect("§4.3 calls are the same by operation, path and JSON text, ignoring white space", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const send = (text: string, path = "/webhooks") =>
        ws.call("POST", path, { text, headers: { "idempotency-key": "k" } })
      const text = '{"url":"https://example.com/a b","eventTypes":["a"],"enabled":true}'
      const first = yield* send(text)

      const spaced = yield* send(
        ' {\n"url" : "https://example.com/a b", "eventTypes":[ "a" ],"enabled":true}\t'
      )
      const different = yield* Effect.forEach(
        [
          text.replace("true", "false"),
          text.replace('["a"]', '["a","b"]'),
          text.replace("a b", "a  b"),
          text.replace('"a"', '"\\u0061"'),
          '{"enabled":true,"url":"https://example.com/a b","eventTypes":["a"]}'
        ],
        (other) => send(other)
      )
      const elsewhere = yield* ws.call("POST", `/webhooks/${first.body.id}/rotate-secret`, {
        headers: { "idempotency-key": "k" }
      })
      const otherEndpoint = yield* keyed(ws.call, "POST", `/webhooks/${first.body.id}/test-event`, "t")
      const otherPath = yield* keyed(ws.call, "POST", `/webhooks/${yield* makeEndpoint(ws)}/test-event`, "t")

      expect(spaced.text).toBe(first.text)
      expect(different.map(tagOf)).toEqual(different.map(() => REUSED))
      expect(tagOf(elsewhere)).toEqual(REUSED)
      expect(otherEndpoint.status).toBe(202)
      expect(tagOf(otherPath)).toEqual(REUSED)
    })
  )

  it.effect("§4.3 a key belongs to its caller and its workspace, and REST and MCP share it", () =>
    Effect.gen(function* () {
      const { call, url } = yield* TestServer
      const [ws, other] = [yield* inNewWorkspace, yield* inNewWorkspace]
      const admin = yield* ws.tokenWith("admin")
      const create = (path: string, token: string) =>
        keyed(
          (method, at, options) => call(method, at, { ...options, token }),
          "POST",
          path,
          "shared",
          endpoint
        )

      const mine = yield* create(`/workspaces/${ws.slug}/webhooks`, ws.token)
      const others = yield* Effect.all([
        create(`/workspaces/${ws.slug}/webhooks`, admin),
        create(`/workspaces/${ws.slug}/webhooks`, OPERATOR_TOKEN),
        create(`/workspaces/${other.slug}/webhooks`, other.token),
        create(`/workspaces/${other.slug}/webhooks`, OPERATOR_TOKEN)
      ])
      const throughMcp = yield* callTool(url, ws.token, "create_webhook_endpoint", {
        idempotencyKey: "shared",
        slug: ws.slug,
        ...endpoint
      })
      const reused = yield* callTool(url, ws.token, "create_webhook_endpoint", {
        idempotencyKey: "shared",
        ...endpoint,
        enabled: false
      })

      expect(new Set([mine, ...others].map(({ body }) => body.id)).size).toBe(5)
      expect(throughMcp.content[0]!.text).toBe(mine.text)
      expect(throughMcp.isError).toBeUndefined()
      expect(reused).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining("KeyReused") }]
      })
      expect((yield* ws.call("GET", "/webhooks")).body.items.length).toBe(3)
    })
  )

  it.effect("§4.3 a refusal is not kept: the corrected call can use the key", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const send = (body: unknown) => keyed(ws.call, "POST", "/webhooks", "k", body)

      const refused = yield* send({ ...endpoint, url: "http://localhost/" })
      const nobodys = yield* keyed(ws.call, "POST", `/webhooks/${unknown("whe_")}/test-event`, "k")
      const invalid = yield* send({ ...endpoint, eventTypes: [] })
      const mended = yield* send(endpoint)

      expect([refused, nobodys, invalid, mended].map(({ status }) => status)).toEqual([400, 404, 400, 201])
    })
  )

  it.effect("§4.3 a key has 1 to 255 visible ASCII characters, and the permission is checked first", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* inNewWorkspace
      const weak = yield* ws.tokenWith("read")

      for (const key of ["", "k".repeat(256), "a b", "caf\u00e9"]) {
        const answer = yield* keyed(ws.call, "POST", "/webhooks", key, endpoint)
        expect([key, ...tagOf(answer)]).toEqual([key, 400, "InvalidRequest"])
      }
      expect((yield* keyed(ws.call, "POST", "/webhooks", "k".repeat(255), endpoint)).status).toBe(201)
      const forbidden = yield* call("POST", `/workspaces/${ws.slug}/webhooks`, {
        token: weak,
        body: endpoint,
        headers: { "idempotency-key": "" }
      })
      expect(forbidden.status).toBe(403)
    })
  )
})

layer(testServer(), { excludeTestServices: true })("idempotency keys over time", (it) => {
  const age = (workspaceId: string, minutes: number) =>
    rows`update posthorn.idempotent_answers set created_at = created_at - ${minutes} * interval '1 minute'
        where workspace_id = ${workspaceId}`.pipe(Effect.orDie)

  it.effect("§4.3 an answer is given again for 24 hours, and then the key is free", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const send = keyed(ws.call, "POST", "/webhooks", "k", endpoint)
      const first = yield* send
      yield* age(ws.workspaceId, 24 * 60 - 1)
      const late = yield* send
      yield* age(ws.workspaceId, 2)
      const free = yield* send
      const again = yield* send

      expect(late.text).toBe(first.text)
      expect(free.body.id).not.toBe(first.body.id)
      expect(again.text).toBe(free.text)
    })
  )

  it.effect("§4.3 an answer with a secret is kept sealed, for ten minutes only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* inNewWorkspace
      const rotate = keyed(ws.call, "POST", `/webhooks/${yield* makeEndpoint(ws)}/rotate-secret`, "r")
      const token = keyed(ws.call, "POST", "/api-tokens", "t", { name: "T", scopes: ["read"] })
      const endpoint = keyed(ws.call, "POST", "/webhooks", "e", {
        url: "https://example.com/hooks",
        eventTypes: ["*"],
        revealSecret: true
      })
      const [rotated, created, first] = [yield* rotate, yield* token, yield* endpoint]
      const kept = JSON.stringify(
        yield* sql`select body, headers, encode(sealed, 'escape') as sealed from posthorn.idempotent_answers
          where workspace_id = ${ws.workspaceId}`
      )

      yield* age(ws.workspaceId, 9)
      const inTime = [yield* rotate, yield* token, yield* endpoint]
      yield* age(ws.workspaceId, 2)
      const late = [yield* rotate, yield* token, yield* endpoint]

      expect(inTime.map(({ text }) => text)).toEqual([rotated.text, created.text, first.text])
      expect(inTime[2]!.headers.get("cache-control")).toBe("no-store")
      expect(late.map(tagOf)).toEqual([REUSED, REUSED, REUSED])
      for (const secret of [rotated.body.signingSecret, created.body.token, first.body.signingSecret])
        expect(kept).not.toContain(secret)
      expect(kept).toContain('"body":null')
      yield* sql`select posthorn.erase_sealed_answers('10 minutes')`
      const [left] = yield* sql`select count(*)::integer as rows, count(sealed)::integer as sealed
        from posthorn.idempotent_answers where workspace_id = ${ws.workspaceId}`
      expect(left).toEqual({ rows: 3, sealed: 0 })
      expect(tagOf(yield* rotate)).toEqual(REUSED)
    })
  )

  it.scoped("§4.3 while the first call runs, others with its key are refused without waiting", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const endpointId = yield* makeEndpoint(ws)
      const rotate = keyed(ws.call, "POST", `/webhooks/${endpointId}/rotate-secret`, "k")
      const client = yield* connect
      yield* Effect.promise(async () => {
        await client.query("begin")
        await client.query("select from posthorn.endpoints where id = $1 for update", [endpointId])
      })
      const first = yield* Effect.fork(rotate)
      const locked = Effect.promise(async () => {
        const { rows } = await client.query(
          `select count(*)::integer as n from pg_locks where locktype = 'advisory' and objsubid = 1
             and database = (select oid from pg_database where datname = current_database())`
        )
        return rows[0].n as number
      })
      yield* Effect.repeat(locked, { until: (n) => n > 0 })

      const meanwhile = yield* Effect.all([rotate, rotate], { concurrency: "unbounded" })
      yield* Effect.promise(() => client.query("rollback"))
      const answer = yield* Fiber.join(first)
      const after = yield* rotate

      expect(meanwhile.map(tagOf)).toEqual([IN_USE, IN_USE])
      expect(answer.status).toBe(200)
      expect(after.text).toBe(answer.text)
    })
  )

  it.effect("§4.3 of many calls at once one makes the change; others get `in use` or its answer", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace

      const answers = yield* Effect.forEach(
        Array.from({ length: 12 }),
        () => keyed(ws.call, "POST", "/webhooks", "k", endpoint),
        { concurrency: "unbounded" }
      )

      const made = answers.filter(({ status }) => status === 201)
      expect(new Set(made.map(({ body }) => body.id)).size).toBe(1)
      expect(answers.filter(({ status }) => status !== 201).every((one) => one.body._tag === IN_USE[1])).toBe(
        true
      )
      expect((yield* ws.call("GET", "/webhooks")).body.items.length).toBe(1)
      expect(made.filter(({ headers }) => headers.get("idempotent-replayed") === null).length).toBe(1)
    })
  )

  it.effect("§4.3 a crash before the answer is kept leaves neither change nor key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* inNewWorkspace
      const send = keyed(ws.call, "POST", "/webhooks", "k", endpoint)
      yield* sql`create function posthorn.crash() returns trigger language plpgsql as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`
      yield* sql`create trigger crash before insert on posthorn.idempotent_answers
        for each row execute function posthorn.crash()`

      const crashed = yield* send
      const left = yield* ws.call("GET", "/webhooks")
      yield* sql`drop function posthorn.crash cascade`
      const made = yield* send
      const again = yield* send

      expect(crashed.status).toBeGreaterThanOrEqual(500)
      expect(left.body.items).toEqual([])
      expect(made.status).toBe(201)
      expect(again.text).toBe(made.text)
      expect((yield* ws.call("GET", "/webhooks")).body.items.length).toBe(1)
    })
  )

  it.effect("§4.3 the daily run removes keys older than a day, including the operator's", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { call } = yield* TestServer
      const ws = yield* inNewWorkspace
      yield* keyed(ws.call, "POST", "/webhooks", "k", endpoint)
      yield* call("POST", "/workspaces", {
        token: OPERATOR_TOKEN,
        body: { slug: "kept", name: "Kept" },
        headers: { "idempotency-key": "w" }
      })
      yield* sql`update posthorn.idempotent_answers set created_at = created_at - interval '25 hours'
        where workspace_id = ${ws.workspaceId} or workspace_id is null`

      const removed = yield* sql<{ of: number; operators: number }>`
        select posthorn.remove_old_answers(${ws.workspaceId}, '24 hours', 100) as of,
          posthorn.remove_old_answers(null, '24 hours', 100) as operators`
      const toTidy = yield* sql`select posthorn.workspaces_to_tidy('30 days', '24 hours') as id`

      expect(removed).toEqual([{ of: 1, operators: 1 }])
      expect(toTidy).toEqual([])
    })
  )
})

layer(testServer(), { excludeTestServices: true })("idempotency keys of batches", (it) => {
  it.scoped("§4.3 a batch that contains a locked key waits for it, even under a key for the whole", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const client = yield* connect
      yield* Effect.promise(async () => {
        await client.query("begin")
        await client.query("select posthorn.publish($1, 'a', '1', 'inner')", [ws.slug])
      })
      const events = [{ eventType: "a", payload: 1, idempotencyKey: "inner" }]
      const batch = keyed(ws.call, "POST", "/events/batch", "outer", { events })
      const first = yield* Effect.fork(batch)
      const waits = Effect.promise(async () => {
        const { rows } = await client.query(
          `select count(*)::integer as n from pg_locks w
           where not granted and locktype = 'transactionid' and exists (select from pg_locks l where l.pid = w.pid
             and l.database = (select oid from pg_database where datname = current_database()))`
        )
        return rows[0].n as number
      })
      yield* Effect.repeat(waits, { until: (n) => n > 0 })
      yield* Effect.promise(() => client.query("commit"))
      const answer = yield* Fiber.join(first)

      expect(answer).toMatchObject({ status: 202, body: { items: [{ duplicate: true }] } })
      expect((yield* batch).text).toBe(answer.text)
    })
  )
})
