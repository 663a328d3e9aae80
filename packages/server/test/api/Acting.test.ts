/** Operations that send something: replay, resend, test send, rotation. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { Effect, Redacted } from "effect"
import { makeDelivery, makeEndpoint, observe, publish } from "../Fixtures.ts"
import { type Entered, entered, MASTER_KEY, OPERATOR_TOKEN, testServer } from "../TestServer.ts"

const get = (ws: Entered, deliveryId: string) =>
  Effect.map(ws.call("GET", `/webhooks/deliveries/${deliveryId}`), ({ body }) => body)
const replay = (ws: Entered, deliveryId: string) =>
  ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`)
const resend = (ws: Entered, deliveryId: string) =>
  ws.call("POST", `/webhooks/deliveries/${deliveryId}/resend`)

layer(testServer(), { excludeTestServices: true })("replaying a delivery", (it) => {
  it.effect("§3.1 copies a stopped delivery into a new pending row and leaves the source as it was", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws, { eventTypes: ["a.b"] })
      const { deliveryIds } = yield* publish(ws, "a.b", { n: 1 })
      const [sourceId] = deliveryIds as readonly [string]
      yield* observe(ws, sourceId, { status: "failed_permanent", httpStatus: 404 })
      const source = yield* get(ws, sourceId)

      const answer = yield* replay(ws, sourceId)

      expect(answer.status).toBe(202)
      expect(answer.body).toEqual({
        ...source,
        id: expect.stringMatching(/^whd_[0-9a-f]{29}$/),
        status: "pending",
        attempts: 0,
        nextAttemptAt: expect.stringMatching(/Z$/),
        replayedFrom: sourceId,
        lastHttpStatus: null,
        lastFailureReason: null,
        lastDurationMs: null,
        lastAttemptAt: null,
        createdAt: expect.stringMatching(/Z$/)
      })
      expect(answer.body.id).not.toBe(sourceId)
      expect(answer.body).toMatchObject({ endpointId, payload: { n: 1 }, eventType: "a.b" })
      expect(yield* get(ws, sourceId)).toEqual(source)
      const sql = yield* SqlClient
      const queued =
        yield* sql`select from posthorn.queue where delivery_id = ${answer.body.id} and due_at <= now()`
      expect(queued).toHaveLength(1)
    })
  )

  it.effect("§3.1 replays failed, failed_permanent and dead_lettered deliveries, and no others", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const statuses = {
        pending: 409,
        delivered: 409,
        failed: 202,
        failed_permanent: 202,
        dead_lettered: 202
      }

      for (const [status, expected] of Object.entries(statuses)) {
        const { deliveryId } = yield* makeDelivery(ws)
        yield* sql`update posthorn.deliveries set status = ${status} where id = ${deliveryId}`
        const answer = yield* replay(ws, deliveryId)
        expect(answer.status, status).toBe(expected)
        if (expected === 409) {
          expect(answer.body).toMatchObject({
            _tag: "WebhookDeliveryNotReplayable",
            deliveryId,
            deliveryStatus: status
          })
        }
      }
    })
  )

  it.effect("§4 refuses a replay through a disabled endpoint with 409, whatever the delivery's status", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const failed = yield* makeDelivery(ws)
      const pending = yield* makeDelivery(ws)
      yield* observe(ws, failed.deliveryId, { status: "failed_permanent", httpStatus: 404 })
      for (const { endpointId } of [failed, pending]) {
        yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })
      }

      for (const { deliveryId, endpointId } of [failed, pending]) {
        expect(yield* replay(ws, deliveryId)).toMatchObject({
          status: 409,
          body: { _tag: "WebhookEndpointDisabled", endpointId }
        })
      }
      expect((yield* ws.call("GET", "/webhooks/deliveries")).body.items).toHaveLength(2)
    })
  )
})

layer(testServer(), { excludeTestServices: true })("resending a delivery", (it) => {
  it.effect("§3.1 sends what was delivered again, as a new pending row, and audits it as a resend", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { deliveryId } = yield* makeDelivery(ws)
      yield* observe(ws, deliveryId, { status: "delivered", httpStatus: 200 })
      const source = yield* get(ws, deliveryId)

      const answer = yield* resend(ws, deliveryId)

      expect(answer).toMatchObject({
        status: 202,
        body: {
          status: "pending",
          attempts: 0,
          replayedFrom: deliveryId,
          eventId: source.eventId,
          payload: source.payload
        }
      })
      expect(answer.body.id).not.toBe(deliveryId)
      expect(yield* get(ws, deliveryId)).toEqual(source)
      const sql = yield* SqlClient
      const queued =
        yield* sql`select from posthorn.queue where delivery_id = ${answer.body.id} and due_at <= now()`
      expect(queued).toHaveLength(1)
      expect((yield* ws.call("GET", "/audit-events?limit=1")).body.items).toMatchObject([
        {
          action: "webhook.delivery_resent",
          target: { type: "webhook_delivery", id: answer.body.id },
          changes: { fields: [], replayedFrom: deliveryId }
        }
      ])
    })
  )

  it.effect("§3.1 resends deliveries that have ended, and no others", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const statuses = {
        pending: 409,
        delivered: 202,
        failed: 409,
        failed_permanent: 202,
        dead_lettered: 202
      }

      for (const [status, expected] of Object.entries(statuses)) {
        const { deliveryId } = yield* makeDelivery(ws)
        yield* sql`update posthorn.deliveries set status = ${status} where id = ${deliveryId}`
        const answer = yield* resend(ws, deliveryId)
        expect(answer.status, status).toBe(expected)
        if (expected === 409) {
          expect(answer.body).toMatchObject({
            _tag: "WebhookDeliveryNotReplayable",
            deliveryId,
            deliveryStatus: status
          })
        }
      }
    })
  )

  it.effect("§4 refuses a resend through a disabled endpoint, of a purged event, and of an unknown id", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { deliveryId, endpointId } = yield* makeDelivery(ws)
      yield* observe(ws, deliveryId, { status: "delivered", httpStatus: 200 })
      const { eventId } = yield* get(ws, deliveryId)

      yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })
      expect(yield* resend(ws, deliveryId)).toMatchObject({
        status: 409,
        body: { _tag: "WebhookEndpointDisabled", endpointId }
      })
      yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: true } })
      yield* ws.call("POST", `/events/${eventId}/purge`, { token: OPERATOR_TOKEN })
      expect(yield* resend(ws, deliveryId)).toMatchObject({
        status: 409,
        body: { _tag: "EventPurged", eventId }
      })
      expect(yield* resend(ws, "whd_00000000000000000000000000000")).toMatchObject({
        status: 404,
        body: { _tag: "WebhookDeliveryNotFound" }
      })
    })
  )
})

layer(testServer(), { excludeTestServices: true })("a test send", (it) => {
  it.effect("§3.1 queues a synthetic webhook.test_event whatever the subscriptions say", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { eventTypes: ["only.this"] })

      const sent = yield* ws.call("POST", `/webhooks/${id}/test-event`)

      expect(sent).toMatchObject({
        status: 202,
        body: {
          endpointId: id,
          eventId: null,
          eventType: "webhook.test_event",
          status: "pending",
          attempts: 0,
          payload: { message: expect.any(String) },
          replayedFrom: null
        }
      })
      expect((yield* ws.call("GET", `/webhooks/${id}/deliveries`)).body.items).toEqual([sent.body])
    })
  )

  it.effect("§4 refuses a test send to a disabled endpoint", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { enabled: false })

      const refused = yield* ws.call("POST", `/webhooks/${id}/test-event`)

      expect(refused).toMatchObject({
        status: 409,
        body: { _tag: "WebhookEndpointDisabled", endpointId: id }
      })
    })
  )
})

layer(testServer(), { excludeTestServices: true })("rotating a secret", (it) => {
  it.effect("§3.3 keeps the last two secrets for 24 hours, and drops an older one at once", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const id = yield* makeEndpoint(ws)
      const rotate = ws.call("POST", `/webhooks/${id}/rotate-secret`)

      const first = yield* rotate
      const began = Date.now()
      const second = yield* rotate
      const [row] = yield* sql<{ secret: Buffer; previous: Buffer }>`
        select secret, previous_secret as previous from posthorn.endpoints where id = ${id}`

      const box = SecretBox.make([MASTER_KEY])
      const opened = (sealed: Buffer) =>
        Redacted.value(SecretBox.openOrThrow(box, { workspaceId: ws.workspaceId, endpointId: id }, sealed))
      expect(opened(row!.secret)).toBe(second.body.signingSecret)
      expect(opened(row!.previous)).toBe(first.body.signingSecret)
      const rotatedAt = Date.parse(String(second.body.previousSecretExpiresAt)) - 86_400_000
      expect(rotatedAt).toBeGreaterThanOrEqual(began)
      expect(rotatedAt).toBeLessThanOrEqual(Date.now())
      expect(Object.keys(second.body).sort()).toEqual([
        "endpointId",
        "previousSecretExpiresAt",
        "signingSecret"
      ])
    })
  )
})
