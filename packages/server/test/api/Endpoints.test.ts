import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { Effect, Redacted } from "effect"
import { makeDelivery, makeEndpoint, nextNotification, observe, publish, unknown, walk } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { BASE_URL, type Entered, entered, MASTER_KEY, TestServer, testServer } from "../TestServer.ts"

const auditOf = (ws: Entered, endpointId: string) =>
  Effect.map(ws.call("GET", "/audit-events?limit=200"), ({ body }) =>
    body.items.filter(({ target }) => (target as { readonly id: string }).id === endpointId)
  )

const ownEvents = (ws: Entered, type: string) =>
  Effect.map(ws.call("GET", `/webhooks/deliveries?eventType=${type}`), ({ body }) =>
    body.items.map(({ endpointId, payload }) => ({ endpointId, payload }))
  )

layer(testServer(), { excludeTestServices: true })("webhook endpoints", (it) => {
  it.effect("§2.1 creates an endpoint and shows no secret anywhere", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const created = yield* ws.call("POST", "/webhooks", {
        body: { url: "https://EXAMPLE.com/a#frag", eventTypes: ["invoice.*"], description: "Billing" }
      })
      const detail = yield* ws.call("GET", `/webhooks/${created.body.id}`)

      const endpoint = {
        id: expect.stringMatching(/^whe_[0-9a-f]{29}$/),
        url: "https://example.com/a",
        description: "Billing",
        eventTypes: ["invoice.*"],
        externalId: null,
        metadata: {},
        policy: null,
        request: null,
        filter: null,
        enabled: true,
        disabledReason: null,
        consecutiveFailures: 0
      }
      expect(created.status).toBe(201)
      expect(created.body).toEqual(endpoint)
      expect(created.headers.get("location")).toBe(
        `${BASE_URL}/workspaces/${ws.slug}/webhooks/${created.body.id}`
      )
      expect(detail.body).toEqual({
        ...endpoint,
        publicKey: null,
        effectivePolicy: {
          retries: { kind: "standard" },
          jitter: 0,
          honorRetryAfter: false,
          timeoutSeconds: 10,
          rateLimit: null,
          disableAfter: { kind: "failures", count: 20 },
          onGone: "fail",
          givesUpAfterSeconds: 630
        },
        createdAt: expect.stringMatching(/\.\d{3}Z$/),
        updatedAt: expect.stringMatching(/\.\d{3}Z$/),
        previousSecretExpiresAt: null,
        missedEvents: { count: 0, since: null },
        expiredDeliveries: 0
      })
      expect(`${created.text}${detail.text}`).not.toContain("whsec_")
    })
  )

  it.effect("§4 lists endpoints forward on id, without timestamps", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const made: Array<string> = []
      for (let n = 0; n < 5; n++) made.push(yield* makeEndpoint(ws))

      const { items, pages } = yield* walk(ws.call, "/webhooks", 2)

      expect(items.map(({ id }) => id)).toEqual(made)
      expect(pages).toBe(3)
      expect(Object.keys(items[0]!).sort()).toEqual(
        [
          "consecutiveFailures",
          "description",
          "disabledReason",
          "enabled",
          "eventTypes",
          "externalId",
          "filter",
          "id",
          "metadata",
          "policy",
          "request",
          "url"
        ].sort()
      )
    })
  )

  it.effect("§4 changes only what a PATCH sends, and audits the names of what changed", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { description: "Old" })
      const before = yield* ws.call("GET", `/webhooks/${id}`)

      const patched = yield* ws.call("PATCH", `/webhooks/${id}`, {
        body: { description: "New", eventTypes: ["a.b", "c.*"], url: "https://example.com/hooks" }
      })

      expect(patched.status).toBe(200)
      expect(patched.body).toEqual({
        ...before.body,
        description: "New",
        eventTypes: ["a.b", "c.*"],
        updatedAt: patched.body.updatedAt
      })
      const [newest] = yield* auditOf(ws, id)
      expect(newest).toMatchObject({
        action: "webhook.endpoint_updated",
        actor: { type: "api_token", via: "rest" },
        target: { type: "webhook_endpoint", id }
      })
      expect(newest!.changes).toEqual({
        fields: expect.toSatisfy(
          (fields: ReadonlyArray<string>) => fields.toSorted().join() === "description,eventTypes"
        ),
        from: { description: "Old", eventTypes: ["*"] },
        to: { description: "New", eventTypes: ["a.b", "c.*"] }
      })
      expect((yield* publish(ws, "c.d")).deliveryIds).toHaveLength(1)
      expect((yield* publish(ws, "a.c")).deliveryIds).toHaveLength(0)
    })
  )

  it.effect(
    "§4.3 changes and audits nothing for {}, for values that are set already, and for a refused PATCH",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const id = yield* makeEndpoint(ws)
        const before = yield* ws.call("GET", `/webhooks/${id}`)
        const bodies = [
          [200, {}],
          [200, { enabled: true, url: "https://example.com/hooks#x", eventTypes: ["*"], description: null }],
          [400, { description: "changed", url: "https://localhost/" }],
          [400, { description: "changed", eventTypes: [] }],
          [400, { description: "changed", secret: "x" }],
          [400, { description: "changed", enabled: "yes" }]
        ] as const

        for (const [status, body] of bodies) {
          const answer = yield* ws.call("PATCH", `/webhooks/${id}`, { body })
          expect(answer.status, JSON.stringify(body)).toBe(status)
        }

        const after = yield* ws.call("GET", `/webhooks/${id}`)
        expect(after.body).toEqual(before.body)
        expect((yield* auditOf(ws, id)).map(({ action }) => action)).toEqual(["webhook.endpoint_created"])
      })
  )

  it.effect("§3.2 disables by PATCH: no deliveries, history kept, missed events counted, others told", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { deliveryId, endpointId } = yield* makeDelivery(ws, "invoice.paid")
      const other = yield* makeEndpoint(ws, { eventTypes: ["webhook.endpoint_disabled"] })

      const disabled = yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })
      const missed = yield* publish(ws)
      const again = yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })

      expect(disabled.body).toMatchObject({ enabled: false, disabledReason: "manual" })
      expect(missed.deliveryIds).toEqual([])
      expect(again.body).toMatchObject({
        enabled: false,
        missedEvents: { count: 1, since: expect.stringMatching(/Z$/) }
      })
      expect((yield* ws.call("GET", `/webhooks/deliveries/${deliveryId}`)).body).toMatchObject({
        status: "pending"
      })
      expect(yield* ownEvents(ws, "webhook.endpoint_disabled")).toEqual([
        { endpointId: other, payload: { endpointId, reason: "manual" } }
      ])
      expect((yield* auditOf(ws, endpointId)).map(({ action }) => action)).toEqual([
        "webhook.endpoint_updated",
        "webhook.endpoint_created"
      ])
    })
  )

  it.scoped("§3.2 enables by PATCH: the streak starts again, and workers are notified of waiting work", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const { deliveryId, endpointId } = yield* makeDelivery(ws, "invoice.paid")
      yield* observe(ws, deliveryId, { status: "failed" })
      const rowOf = Effect.map(
        sql<{ generation: number; streak: number }>`
          select generation, consecutive_failures as streak from posthorn.endpoints
          where workspace_id = ${ws.workspaceId} and id = ${endpointId}`,
        ([row]) => row!
      )

      const onEnabled = yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: true } })
      const untouched = yield* rowOf
      yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })
      const heard = yield* nextNotification("posthorn_due")
      const enabled = yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: true } })

      expect(onEnabled.body).toMatchObject({ consecutiveFailures: 1 })
      expect(untouched).toEqual({ generation: 0, streak: 1 })
      expect(enabled.body).toMatchObject({ enabled: true, disabledReason: null, consecutiveFailures: 0 })
      expect(yield* rowOf).toEqual({ generation: 1, streak: 0 })
      // The first of two: its lane begins anew, then its waiting deliveries are looked for.
      expect(yield* heard).toMatch(new RegExp(`^endpoint ${endpointId} 0 \\d+$`))
    })
  )

  it.effect("§4.3 counts missed events of the current or latest disabled period only", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { eventTypes: ["a.b"] })
      const enable = (enabled: boolean) =>
        Effect.map(
          ws.call("PATCH", `/webhooks/${id}`, { body: { enabled } }),
          ({ body }) => body.missedEvents
        )
      const missed = Effect.map(ws.call("GET", `/webhooks/${id}`), ({ body }) => body.missedEvents)

      const began = yield* enable(false)
      yield* publish(ws, "a.b")
      yield* publish(ws, "a.b")
      yield* publish(ws, "other.type")
      const during = yield* missed
      const enabled = yield* enable(true)
      yield* publish(ws, "a.b")
      const after = yield* missed
      const again = yield* enable(false)

      const since = expect.stringMatching(/Z$/)
      expect(began).toEqual({ count: 0, since })
      expect(during).toEqual({ ...(began as object), count: 2 })
      expect([enabled, after]).toEqual([during, during])
      expect(again).toEqual({ count: 0, since })
    })
  )

  it.effect("§3.3 shows the end of the grace window until it is over, then null", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const id = yield* makeEndpoint(ws)

      const rotated = yield* ws.call("POST", `/webhooks/${id}/rotate-secret`)
      const during = yield* ws.call("GET", `/webhooks/${id}`)
      yield* sql`update posthorn.endpoints set previous_secret_expires_at = now() where id = ${id}`
      const after = yield* ws.call("GET", `/webhooks/${id}`)

      expect(during.body.previousSecretExpiresAt).toBe(rotated.body.previousSecretExpiresAt)
      expect(after.body.previousSecretExpiresAt).toBeNull()
    })
  )

  it.effect("§4 deletes an endpoint with its deliveries and attempts, and audits it", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const { deliveryId, endpointId } = yield* makeDelivery(ws, "invoice.paid")
      yield* observe(ws, deliveryId, { status: "failed" })

      const deleted = yield* ws.call("DELETE", `/webhooks/${endpointId}`)
      const again = yield* ws.call("DELETE", `/webhooks/${endpointId}`)
      const delivery = yield* ws.call("GET", `/webhooks/deliveries/${deliveryId}`)

      expect([deleted.status, deleted.text]).toEqual([204, ""])
      expect(again).toMatchObject({ status: 404, body: { _tag: "WebhookEndpointNotFound" } })
      expect(delivery).toMatchObject({ status: 404, body: { _tag: "WebhookDeliveryNotFound" } })
      for (const table of ["deliveries", "attempts", "queue", "subscriptions"]) {
        const rows =
          yield* sql`select from posthorn.${sql.literal(table)} where workspace_id = ${ws.workspaceId}`
        expect(rows, table).toHaveLength(0)
      }
      const [newest] = yield* auditOf(ws, endpointId)
      expect(newest).toMatchObject({ action: "webhook.endpoint_deleted" })
    })
  )

  it.effect("§4 deletes an endpoint with a long history in steps, and no delivery of another", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const { endpointId } = yield* makeDelivery(ws)
      const kept = yield* makeDelivery(ws)
      yield* sql`
        insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status, created_at)
        select ${ws.workspaceId}, posthorn.new_id('whd_'), ${endpointId}, 'a.b', '1', 't', 'delivered', now()
        from generate_series(1, 4500)`

      const deleted = yield* ws.call("DELETE", `/webhooks/${endpointId}`)
      const again = yield* ws.call("DELETE", `/webhooks/${endpointId}`)
      yield* Effect.provide(
        Effect.flatMap(Retention.Retention, ({ removeDeleted }) => removeDeleted),
        Retention.layer
      )

      const left = yield* sql<{ id: string }>`
        select id from posthorn.deliveries where workspace_id = ${ws.workspaceId}`
      expect([deleted.status, again.status]).toEqual([204, 404])
      expect(left).toEqual([{ id: kept.deliveryId }])
    })
  )
})

layer(testServer(), { excludeTestServices: true })("signing secrets", (it) => {
  it.effect("§2.1 are stored sealed and bound to their row, and shown once, at rotation", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const id = yield* makeEndpoint(ws)

      const rotated = yield* ws.call("POST", `/webhooks/${id}/rotate-secret`)
      const detail = yield* ws.call("GET", `/webhooks/${id}`)
      const audit = yield* ws.call("GET", "/audit-events")
      const [row] = yield* sql<{ secret: Buffer; previous: Buffer }>`
        select secret, previous_secret as previous from posthorn.endpoints where id = ${id}`

      const secret = String(rotated.body.signingSecret)
      const box = SecretBox.make([MASTER_KEY])
      const place = { workspaceId: ws.workspaceId, endpointId: id }
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      expect(rotated.headers.get("cache-control")).toBe("no-store")
      expect(row!.secret.toString("latin1")).not.toContain(secret.slice(6, 20))
      expect(Redacted.value(SecretBox.openOrThrow(box, place, row!.secret))).toBe(secret)
      expect(Redacted.value(SecretBox.openOrThrow(box, place, row!.previous))).toMatch(/^whsec_/)
      expect(() =>
        SecretBox.openOrThrow(box, { ...place, endpointId: unknown("whe_") }, row!.secret)
      ).toThrow()
      expect(`${detail.text}${audit.text}`).not.toContain(secret)
    })
  )

  it.effect("§2.1 shows the first one to a creation over REST that asks for it, and nowhere else", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const body = { url: "https://example.com/first", eventTypes: ["*"] }

      const unseen = yield* ws.call("POST", "/webhooks", { body })
      const created = yield* ws.call("POST", "/webhooks", { body: { ...body, revealSecret: true } })
      const both = yield* ws.call("POST", "/webhooks", {
        body: { ...body, revealSecret: true, signingSecret: "0123456789abcdef" }
      })
      const { url } = yield* TestServer
      const tool = yield* callTool(url, ws.token, "create_webhook_endpoint", { ...body, revealSecret: true })

      const { signingSecret, ...endpoint } = created.body
      const [row] = yield* sql<{ secret: Buffer }>`
        select secret from posthorn.endpoints where id = ${endpoint.id}`
      const place = { workspaceId: ws.workspaceId, endpointId: endpoint.id }
      expect(Redacted.value(SecretBox.openOrThrow(SecretBox.make([MASTER_KEY]), place, row!.secret))).toBe(
        signingSecret
      )
      expect(signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      expect([created.headers.get("cache-control"), unseen.headers.get("cache-control")]).toEqual([
        "no-store",
        null
      ])
      expect({ ...endpoint, id: "" }).toEqual({ ...unseen.body, id: "" })
      expect([both.status, both.body.issues]).toEqual([
        400,
        [{ path: "/revealSecret", message: "Not beside signingSecret" }]
      ])
      expect([tool.isError, tool.content[0]!.text]).toEqual([true, expect.stringContaining("/revealSecret")])
      const later = [`/webhooks/${endpoint.id}`, "/webhooks", "/audit-events", "/events"]
      for (const path of later) expect((yield* ws.call("GET", path)).text).not.toContain(signingSecret)
    })
  )
})
