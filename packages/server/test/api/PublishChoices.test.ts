/** What a publish may say beside its event, over REST and MCP: who gets it, and that each delivery has one attempt. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint, type Published, unknown } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, type Loose, TestServer, testServer } from "../TestServer.ts"

const event = { eventType: "invoice.paid", payload: { id: 7 } }

const post = (ws: Entered, choices: object) =>
  ws.call<Published & Loose>("POST", "/events", { body: { ...event, ...choices } })

const batch = (ws: Entered, ...choices: ReadonlyArray<object>) =>
  ws.call<Loose>("POST", "/events/batch", { body: { events: choices.map((one) => ({ ...event, ...one })) } })

const shown = (ws: Entered, id: string) => Effect.map(ws.call("GET", `/events/${id}`), ({ body }) => body)

layer(testServer(), { excludeTestServices: true })("what a publish may say", (it) => {
  it.effect("§4.4 exactly the named endpoints get it, alone, in a batch and by a tool; Event shows it", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { url } = yield* TestServer
      const named = yield* makeEndpoint(ws, { eventTypes: ["nothing.else"] })
      const off = yield* makeEndpoint(ws, { eventTypes: ["nothing.else"], enabled: false })
      yield* makeEndpoint(ws)
      const endpointIds = [named, off]

      const alone = yield* post(ws, { endpointIds, retry: false })
      const { items } = (yield* batch(ws, { endpointIds }, { retry: false })).body
      const byTool = yield* callTool(url, ws.token, "publish_event", { ...event, endpointIds, retry: false })
      const ids = [alone.body.id, ...items.map(({ id }) => id), (byTool.structuredContent as Published).id]

      expect(alone.body.deliveryIds).toHaveLength(1)
      const events = yield* Effect.forEach(ids, (id) => shown(ws, id))
      const choices = { endpointIds, retry: false, deliveries: 1, missed: 1 }
      expect(events).toMatchObject([
        choices,
        { ...choices, retry: true },
        { ...choices, endpointIds: null, missed: 0 },
        choices
      ])
      const { body } = yield* ws.call("GET", `/webhooks/deliveries?eventId=${ids[0]}`)
      expect(body.items.map(({ endpointId }) => endpointId)).toEqual([named])
    })
  )

  it.effect(
    "§4.4 an endpoint that is not the workspace's, a list that is none, and another key's are refused",
    () =>
      Effect.gen(function* () {
        const [ws, other] = [yield* entered, yield* entered]
        const [own, foreign] = [yield* makeEndpoint(ws), yield* makeEndpoint(other)]
        const faults = [
          [{ endpointIds: [own, foreign] }, "/endpointIds/1"],
          [{ endpointIds: [own, unknown("whe_")] }, "/endpointIds/1"],
          [{ endpointIds: ["../x\u0000", own] }, "/endpointIds/0"],
          [{ endpointIds: [7] }, "/endpointIds/0"],
          [{ endpointIds: [own, own] }, "/endpointIds"],
          [{ endpointIds: [] }, "/endpointIds"],
          [{ endpointIds: Array.from({ length: 101 }, (_, n) => `whe_${n}`) }, "/endpointIds"],
          [{ endpointIds: null }, "/endpointIds"],
          [{ retry: "no" }, "/retry"]
        ] as const

        for (const [choices, path] of faults) {
          expect(yield* post(ws, choices)).toMatchObject({
            status: 400,
            body: { _tag: "InvalidRequest", issues: [{ path }] }
          })
          expect(yield* batch(ws, {}, choices)).toMatchObject({
            status: 400,
            body: { _tag: "InvalidRequest", issues: [{ path: `/events/1${path}` }] }
          })
        }
        expect((yield* ws.call("GET", "/events?eventType=invoice.paid")).body.items).toEqual([])

        const key = { idempotencyKey: "one" }
        expect((yield* post(ws, { ...key, endpointIds: [own] })).body.duplicate).toBe(false)
        expect((yield* post(ws, { ...key, endpointIds: [own], retry: true })).body.duplicate).toBe(true)
        for (const choices of [{}, { endpointIds: [own], retry: false }])
          expect((yield* post(ws, { ...key, ...choices })).body._tag).toBe("IdempotencyKeyReused")
      })
  )
})
