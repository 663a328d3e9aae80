/** Test sends with a type, a payload and a wait. */
import { expect, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeEndpoint, observe } from "../Fixtures.ts"
import { type Entered, type Loose, TestServer, testServer } from "../TestServer.ts"

const inNewWorkspace = Effect.flatMap(TestServer, ({ enter }) => enter)

/** The delivery of a test send, once it exists. */
const sentTo = (ws: Entered, endpointId: string) =>
  Effect.map(
    Effect.repeat(ws.call("GET", `/webhooks/${endpointId}/deliveries`), {
      until: ({ body }) => body.items.length > 0
    }),
    ({ body }) => body.items[0]!.id
  )

layer(testServer(), { excludeTestServices: true })("test sends", (it) => {
  it.effect("§4.3 a test send has the given type and payload, or the default ones", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws, { eventTypes: ["other"] })}/test-event`
      const message = { message: expect.stringContaining("test event") }
      const send = (text: string) => ws.call("POST", path, { text })

      const bare = yield* ws.call("POST", path)
      const empty = yield* ws.call("POST", path, { text: "", headers: { "content-type": "text/plain" } })
      const nothing = yield* send("{}")
      const typed = yield* send('{"eventType":"invoice.paid"}')
      const exact = yield* send('{"payload":{"b":1.0,"a":[12345678901234567890]},"waitSeconds":0}')
      const both = yield* send('{"eventType":"webhook.test_event","payload":null}')

      for (const { body, status } of [bare, empty, nothing, typed, exact, both]) {
        expect([status, body.status, body.eventId]).toEqual([202, "pending", null])
      }
      const got = [bare, empty, nothing, typed, both].map(({ body }) => [body.eventType, body.payload])
      expect(got).toEqual([
        ["webhook.test_event", message],
        ["webhook.test_event", message],
        ["webhook.test_event", message],
        ["invoice.paid", message],
        ["webhook.test_event", null]
      ])
      expect(exact.text).toContain('"payload":{"b":1.0,"a":[12345678901234567890]}')
    })
  )

  it.effect("§4.3 another type than webhook.test_event needs event:publish", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws)}/test-event`
      const send = (token: string, body: object) => ws.call("POST", path, { token, body })
      const tester = yield* ws.tokenWith("webhook:test")
      const publisher = yield* ws.tokenWith("webhook:test", "event:publish")

      const refused = yield* send(tester, { eventType: "invoice.paid", payload: { total: 1 } })

      expect(refused).toMatchObject({ status: 403, body: { _tag: "Forbidden", permission: "event:publish" } })
      expect((yield* send(tester, { eventType: "member.added" })).status).toBe(403)
      expect((yield* send(tester, { payload: 1 })).status).toBe(202)
      expect((yield* send(tester, { eventType: "webhook.test_event" })).status).toBe(202)
      expect((yield* send(publisher, { eventType: "invoice.paid" })).status).toBe(202)
    })
  )

  it.effect("§4.3 a payload of one's own needs event:publish where the payload is the whole body", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws, { request: { body: "payload" } })}/test-event`
      const send = (token: string, body: object) =>
        Effect.map(ws.call("POST", path, { token, body }), ({ status }) => status)
      const tester = yield* ws.tokenWith("webhook:test")

      expect(yield* send(tester, { payload: { type: "invoice.paid" } })).toBe(403)
      expect(yield* send(tester, {})).toBe(202)
      expect(
        yield* send(yield* ws.tokenWith("webhook:test", "event:publish"), { payload: { total: 1 } })
      ).toBe(202)
    })
  )

  it.effect("§4.3 reserved types and waits out of range are refused", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws)}/test-event`
      const wrong: ReadonlyArray<readonly [object, string]> = [
        [{ eventType: "webhook.endpoint_disabled" }, "/eventType"],
        [{ eventType: "member.added" }, "/eventType"],
        [{ eventType: "a..b" }, "/eventType"],
        [{ waitSeconds: 16 }, "/waitSeconds"],
        [{ waitSeconds: -1 }, "/waitSeconds"],
        [{ waitSeconds: 0.5 }, "/waitSeconds"],
        [{ waitSeconds: "5" }, "/waitSeconds"],
        [{ wait: 5 }, "/wait"]
      ]

      for (const [body, member] of wrong) {
        const answer = yield* ws.call("POST", path, { body })
        expect([answer.status, (answer.body.issues as ReadonlyArray<Loose>)[0]!.path]).toEqual([400, member])
      }
      expect((yield* ws.call("GET", "/webhooks/deliveries")).body.items).toEqual([])
    })
  )

  it.effect("§4.3 a waiting test send answers once its first attempt is recorded", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const endpointId = yield* makeEndpoint(ws)
      const waiting = yield* Effect.fork(
        ws.call("POST", `/webhooks/${endpointId}/test-event`, { body: { waitSeconds: 15 } })
      )

      yield* observe(ws, yield* sentTo(ws, endpointId), { status: "failed", httpStatus: 503 })
      const answer = yield* Fiber.join(waiting)

      expect(answer.status).toBe(202)
      expect(answer.body).toMatchObject({ status: "failed", attempts: 1, lastHttpStatus: 503 })
    })
  )

  it.effect("§4.3 a test send whose wait is over returns the delivery in its current state", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws)}/test-event`

      const answer = yield* ws.call("POST", path, { body: { waitSeconds: 1 } })

      expect(answer).toMatchObject({ status: 202, body: { status: "pending", attempts: 0 } })
    })
  )

  it.effect("§4.3 a disabled endpoint refuses a waiting test send at once", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws, { enabled: false })}/test-event`

      const answer = yield* ws
        .call("POST", path, { body: { waitSeconds: 15 } })
        .pipe(Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => "waited" }))

      expect(answer.body._tag).toBe("WebhookEndpointDisabled")
    })
  )

  it.effect("§4.3 under a key, a waiting test send is in use, and its result is given again", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const endpointId = yield* makeEndpoint(ws)
      const send = ws.call("POST", `/webhooks/${endpointId}/test-event`, {
        body: { waitSeconds: 15 },
        headers: { "idempotency-key": "k" }
      })
      const waiting = yield* Effect.fork(send)
      const deliveryId = yield* sentTo(ws, endpointId)

      const meanwhile = yield* send
      yield* observe(ws, deliveryId)
      const answer = yield* Fiber.join(waiting)
      const again = yield* send

      expect(meanwhile.body._tag).toBe("IdempotencyKeyInUse")
      expect(answer.body).toMatchObject({ id: deliveryId, status: "delivered" })
      expect(again.text).toBe(answer.text)
      expect((yield* ws.call("GET", "/webhooks/deliveries")).body.items.length).toBe(1)
    })
  )
})
