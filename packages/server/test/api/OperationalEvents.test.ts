/** Operational events through the doors that change things. The rules of streaks: persistence/test/guards/Operations.ts. */
import { expect, layer } from "@effect/vitest"
import { operationalEvents } from "@posthorn/api-contract/OperationalEvents"
import { checkQuotas, writeQuotas } from "@posthorn/persistence/operations/Quotas"
import { writeSystemWorkspace } from "@posthorn/persistence/operations/SystemWorkspace"
import { rows } from "@posthorn/testkit/Sql"
import { Effect, Schema } from "effect"
import { makeDelivery, makeEndpoint, observe, publish } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const SLUG = "platform"

const atPlatform = (method: string, path: string, body?: unknown) =>
  Effect.flatMap(TestServer, ({ call }) =>
    call(method, `/workspaces/${SLUG}${path}`, { token: OPERATOR_TOKEN, body })
  )

const makePlatform = Effect.gen(function* () {
  const { call } = yield* TestServer
  yield* call("POST", "/workspaces", { token: OPERATOR_TOKEN, body: { slug: SLUG, name: "The platform" } })
})

const named = Effect.orDie(writeSystemWorkspace(SLUG))

interface Told {
  readonly type: string
  readonly trace: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** What the platform was told of a workspace, oldest first. Every payload is just what the contract says. */
const told = ({ slug, workspaceId }: Pick<Entered, "slug" | "workspaceId">) =>
  Effect.gen(function* () {
    const { body } = yield* atPlatform("GET", "/events?limit=200")
    return body.items.toReversed().flatMap(({ eventType, payload, traceId }): ReadonlyArray<Told> => {
      const { workspace, ...facts } = payload as { workspace?: { slug: string } } & Record<string, unknown>
      if (workspace?.slug !== slug) return []
      const type = eventType as keyof typeof operationalEvents
      Schema.decodeUnknownSync(operationalEvents[type] as Schema.Schema<unknown>)(payload, {
        onExcessProperty: "error"
      })
      expect(workspace).toEqual({ id: workspaceId, slug })
      expect(JSON.stringify(payload)).not.toMatch(/whsec_|https?:/)
      return [{ type, trace: String(traceId), facts }]
    })
  })

const said = (all: ReadonlyArray<Told>) => all.map(({ facts, type }) => [type, facts])

layer(testServer(), { excludeTestServices: true })("operational events", (it) => {
  it.effect(
    "§6.4 a change of an endpoint is told once, over REST and MCP; what changes nothing or fails is not",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const before = yield* makeEndpoint(ws)
        yield* named
        // Named, but not there yet.
        yield* ws.call("PATCH", `/webhooks/${before}`, { body: { description: "x" } })
        yield* makePlatform
        const body = { url: "https://example.com/hooks", eventTypes: ["*"], externalId: "e1" }
        const headers = { "idempotency-key": "once" }
        const created = yield* ws.call("POST", "/webhooks", { body, headers })
        yield* ws.call("POST", "/webhooks", { body, headers })
        const { id } = created.body
        const refused = [
          yield* ws.call("POST", "/webhooks", { body }),
          yield* ws.call("PATCH", `/webhooks/${id}`, {
            body: { description: "y", url: "https://127.0.0.1/" }
          }),
          yield* ws.call("DELETE", `/webhooks/${id}`, { headers: { "if-match": '"other"' } })
        ]
        const patch = (body: object) => ws.call("PATCH", `/webhooks/${id}`, { body })
        const patched = yield* patch({ description: "y" })
        yield* patch({ description: "y" })
        yield* callTool(url, ws.token, "rotate_webhook_secret", { endpointId: id })
        yield* patch({ enabled: false, description: "z" })
        yield* patch({ enabled: true })
        yield* ws.call("DELETE", `/webhooks/${id}`)

        expect(refused.map(({ status }) => status)).toEqual([409, 400, 412])
        const all = yield* told(ws)
        expect(said(all)).toEqual([
          ["endpoint.created", { endpointId: id }],
          ["endpoint.updated", { endpointId: id, fields: ["description"] }],
          ["endpoint.updated", { endpointId: id, fields: ["signingSecret"] }],
          [
            "endpoint.updated",
            { endpointId: id, fields: expect.arrayContaining(["description", "enabled"]) }
          ],
          ["endpoint.disabled", { endpointId: id, reason: "manual" }],
          ["endpoint.updated", { endpointId: id, fields: ["enabled"] }],
          ["endpoint.deleted", { endpointId: id }]
        ])
        expect(all[1]!.trace).toBe(patched.headers.get("x-trace-id"))
      })
  )

  it.effect(
    "§6.4 the first success after an enabling is a recovery, a dead letter and the end of a job are told",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const { deliveryId, endpointId } = yield* makeDelivery(ws, "ops.a")
        yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })
        yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: true } })
        yield* observe(ws, deliveryId, { status: "failed", exhausted: true, waitMs: null })
        yield* rows`select posthorn.dead_letter(10)`
        const started = yield* ws.call("POST", `/webhooks/${endpointId}/replays`, {
          body: { since: "2026-01-01T00:00:00Z", statuses: ["dead_lettered"] }
        })
        for (const _ of [1, 2]) yield* ws.call("DELETE", `/webhooks/replays/${started.body.id}`)
        const [next] = (yield* publish(ws, "ops.a")).deliveryIds
        yield* observe(ws, next!, { status: "delivered" })

        const types = (yield* told(ws)).map(({ type }) => type)
        expect(types).toEqual([
          "endpoint.created",
          "endpoint.updated",
          "endpoint.disabled",
          "endpoint.updated",
          "delivery.dead_lettered",
          "replay.finished",
          "endpoint.recovered"
        ])
        expect((yield* told(ws)).find(({ type }) => type === "replay.finished")!.facts).toEqual({
          ...{ replayId: started.body.id, endpointId, state: "cancelled" },
          ...{ matched: 1, replayed: 0, failed: 0 }
        })
      })
  )

  it.effect("§6.4 a deleted workspace tells of each of its endpoints; the system workspace of none", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      const ids = [yield* makeEndpoint(ws), yield* makeEndpoint(ws)]
      const own = yield* atPlatform("POST", "/webhooks", {
        url: "https://example.com/",
        eventTypes: ["other"]
      })
      yield* atPlatform("DELETE", `/webhooks/${own.body.id}`)
      const removed = yield* call("DELETE", `/workspaces/${ws.slug}`, { token: OPERATOR_TOKEN })

      expect(removed.status).toBe(204)
      const deleted = (yield* told(ws)).filter(({ type }) => type === "endpoint.deleted")
      expect(said(deleted)).toEqual(ids.map((endpointId) => ["endpoint.deleted", { endpointId }]))
      expect(deleted.map(({ trace }) => trace)).toEqual(ids.map(() => removed.headers.get("x-trace-id")))
      const { body } = yield* atPlatform("GET", "/events?limit=200")
      expect(
        body.items.filter(({ payload }) => JSON.stringify(payload).includes(`"slug":"${SLUG}"`))
      ).toEqual([])
    })
  )

  it.effect("§6.4 a payload that deviates is told once for a type and hour, a refused one never", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      const describe = (type: string, validation: string) =>
        call("PUT", `/event-types/${type}`, {
          token: OPERATOR_TOKEN,
          body: { schema: { type: "object" }, validation }
        })
      yield* describe("ops.reported", "report")
      yield* describe("ops.refused", "refuse")
      yield* Effect.repeat(ws.call("POST", "/events", { body: { eventType: "ops.refused", payload: 1 } }), {
        until: ({ status }) => status === 400
      })
      const accepted = (yield* told(ws)).length
      const first = yield* publish(ws, "ops.reported", 1)
      yield* publish(ws, "ops.reported", 2)
      yield* publish(ws, "ops.reported", {})

      expect(said((yield* told(ws)).slice(accepted))).toEqual([
        ["payload.deviated", { eventId: first.id, eventType: "ops.reported" }]
      ])
    })
  )

  it.effect(
    "§6.4 in the system workspace their types are reserved, over REST and MCP; elsewhere they are not",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const event = { eventType: "endpoint.failing", payload: {} }
        const one = yield* atPlatform("POST", "/events", event)
        const many = yield* atPlatform("POST", "/events/batch", {
          events: [{ ...event, eventType: "a" }, event]
        })
        const tool = yield* callTool(url, OPERATOR_TOKEN, "publish_event", { slug: SLUG, ...event })
        const elsewhere = yield* ws.call("POST", "/events", { body: event })
        const test = yield* Effect.flatMap(
          atPlatform("POST", "/webhooks", { url: "https://example.com/", eventTypes: ["other"] }),
          ({ body }) =>
            atPlatform("POST", `/webhooks/${body.id}/test-event`, { eventType: "endpoint.failing" })
        )

        expect(one).toMatchObject({ status: 400, body: { issues: [{ path: "/eventType" }] } })
        expect(many).toMatchObject({ status: 400, body: { issues: [{ path: "/events/1/eventType" }] } })
        expect(JSON.parse(tool.content[0]!.text)).toMatchObject({ issues: [{ path: "/eventType" }] })
        expect([elsewhere.status, test.status]).toEqual([202, 202])
      })
  )

  it.effect("§6.4 a change never waits for the system workspace's quotas, nor does its event", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* atPlatform("PATCH", "", { limits: { publishPerMinute: 1, bytes: 1, waiting: 1 } })
      const hears = yield* atPlatform("POST", "/webhooks", {
        url: "https://example.com/",
        eventTypes: ["endpoint.*"]
      })
      yield* makeEndpoint(ws)
      yield* Effect.orDie(Effect.zipRight(writeQuotas({ waiting: null, bytes: null }), checkQuotas))
      const refused = yield* atPlatform("POST", "/events", { eventType: "a", payload: {} })
      const more = yield* Effect.replicateEffect(makeEndpoint(ws), 3)

      expect(refused.status).toBe(429)
      expect((yield* told(ws)).length).toBe(1 + more.length)
      const got = yield* atPlatform("GET", `/webhooks/deliveries?endpointId=${hears.body.id}`)
      expect(got.body.items.length).toBe(1 + more.length)
    })
  )
})
