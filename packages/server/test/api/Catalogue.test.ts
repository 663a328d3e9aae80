/** The event catalogue: what the operator writes, what workspaces read, and what the operator's log says of it. */
import { expect, layer } from "@effect/vitest"
import { until } from "@posthorn/testkit/Until"
import { Effect } from "effect"
import { groups } from "../../../catalogue/test/Cases.ts"
import { makeEndpoint, publish } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { anotherServer, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

/** One of so many groups of official cases. */
const SAMPLE = 8

const asOperator = Effect.map(
  TestServer,
  ({ call }) =>
    (
      method: string,
      path: string,
      options: {
        readonly body?: unknown
        readonly text?: string
        readonly headers?: Record<string, string>
      } = {}
    ) =>
      call(method, `/event-types${path}`, { token: OPERATOR_TOKEN, ...options })
)

const SCHEMA = '{"type":"object","properties":{"2":{"type":"number"},"1":{"const":1.0}}}'

layer(testServer({ publicCatalogue: true }), { excludeTestServices: true })("the public catalogue", (it) => {
  it.effect(
    "§6.2 documents show what is not hidden, to everybody too, and follow a change within a second",
    () =>
      Effect.gen(function* () {
        const call = yield* asOperator
        const { call: any } = yield* TestServer
        const ws = yield* entered
        yield* call("PUT", "/shown", {
          body: { schema: { type: "object", properties: { id: { type: "integer" } } } }
        })
        yield* call("PUT", "/secret", { body: { hidden: true } })
        const document = (format: string) => ws.call("GET", `/event-type-document?format=${format}`)

        const openapi = yield* document("openapi")
        const asyncapi = yield* document("asyncapi")
        const open = yield* any("GET", "/event-types.json")

        expect(Object.keys(openapi.body.webhooks as object)).toEqual(["shown"])
        expect(Object.keys((asyncapi.body.components as Record<string, object>).messages!)).toEqual(["shown"])
        expect([open.status, open.text]).toEqual([200, openapi.text])
        expect((yield* document("raml")).body._tag).toBe("InvalidRequest")
        const tag = open.headers.get("etag")!
        const again = () => any("GET", "/event-types.json", { headers: { "if-none-match": tag } })
        expect((yield* again()).status).toBe(304)
        yield* call("PUT", "/shown", { body: { deprecated: true } })
        yield* until(again(), ({ status }) => status === 200)
      })
  )

  it.effect("§6.2 a document is bounded, whatever the catalogue holds", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const ws = yield* entered
      for (let index = 10; index < 40; index++)
        yield* call("PUT", `/large.n${index}`, {
          body: { schema: { description: "x".repeat(60_000) }, examples: ["y".repeat(60_000)] }
        })
      const document = () => ws.call("GET", "/event-type-document")
      yield* until(document(), ({ text }) => text.includes("large.n39"))
      const { body, text } = yield* document()
      expect(text.length).toBeLessThan(1_200_000)
      expect(text.length).toBeGreaterThan(900_000)
      const { schemas } = body.components as { readonly schemas: Record<string, object> }
      expect([schemas["large.n10"], schemas["large.n39"]]).toEqual([{ description: expect.anything() }, {}])
    })
  )
})

layer(testServer(), { excludeTestServices: true })("the catalogue", (it) => {
  it.effect("§6.2 nobody without a token sees it, unless it is public", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      expect((yield* call("GET", "/event-types.json")).body._tag).toBe("RouteNotFound")
    })
  )

  it.effect(
    "§6.2 a put describes a type, replaces all of it, and keeps schema and examples to the letter",
    () =>
      Effect.gen(function* () {
        const call = yield* asOperator
        const text = `{"description":"Paid.","group":"Invoices","schema":${SCHEMA},"examples":[{"2":1e1,"1":1.0}],"validation":"report","deprecated":true,"replacedBy":"put.new","hidden":true}`

        const made = yield* call("PUT", "/put.all", { text })
        const read = yield* call("GET", "/put.all")
        const reset = yield* call("PUT", "/put.all", { body: {} })

        expect([made.status, read.status, reset.status]).toEqual([201, 200, 200])
        expect(read.text).toBe(made.text)
        expect(read.text).toContain(`"schema":${SCHEMA}`)
        expect(read.text).toContain('"examples":[{"2":1e1,"1":1.0}]')
        expect(read.body).toMatchObject({
          eventType: "put.all",
          description: "Paid.",
          group: "Invoices",
          validation: "report",
          deprecated: true,
          replacedBy: "put.new",
          hidden: true,
          deviations: { count: 0, since: null, lastEventId: null }
        })
        expect(reset.body).toMatchObject({
          description: null,
          group: null,
          schema: null,
          examples: [],
          validation: "off",
          deprecated: false,
          replacedBy: null,
          hidden: false,
          createdAt: made.body.createdAt
        })
      })
  )

  it.effect("§6.2 refuses reserved and malformed names, and what is too large or unknown", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const refused = (path: string, body: unknown) =>
        Effect.map(call("PUT", path, { body }), ({ body: { _tag, issues }, status }) => [
          status,
          _tag,
          (issues as ReadonlyArray<{ readonly path: string }>)[0]!.path
        ])

      expect(yield* refused("/webhook.x", {})).toEqual([400, "InvalidRequest", "/eventType"])
      expect(yield* refused("/a..b", {})).toEqual([400, "InvalidRequest", "/eventType"])
      expect(yield* refused("/a", { description: "x".repeat(2_001) })).toEqual([
        400,
        "InvalidRequest",
        "/description"
      ])
      expect(yield* refused("/a", { colour: 1 })).toEqual([400, "InvalidRequest", "/colour"])
      expect(yield* refused("/a", { examples: Array(11).fill(1) })).toEqual([
        400,
        "InvalidRequest",
        "/examples"
      ])
      expect(yield* refused("/a", { examples: ["x".repeat(65_536)] })).toEqual([
        400,
        "InvalidRequest",
        "/examples"
      ])
      expect((yield* call("GET", "/a")).body._tag).toBe("EventTypeNotFound")
      expect((yield* call("DELETE", "/a")).body._tag).toBe("EventTypeNotFound")
    })
  )

  it.effect("§6.2 ETag and If-Match guard puts and deletes, and deviations do not count", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const put = (description: string, tag?: string) =>
        call("PUT", "/tagged", {
          body: { description },
          headers: tag === undefined ? {} : { "if-match": tag }
        })

      expect((yield* put("A", "*")).status).toBe(412)
      const first = (yield* put("A")).headers.get("etag")!
      expect((yield* call("GET", "/tagged")).headers.get("etag")).toBe(first)
      const second = (yield* put("B", first)).headers.get("etag")!
      expect(second).not.toBe(first)
      expect((yield* put("C", first)).body._tag).toBe("PreconditionFailed")
      expect((yield* call("DELETE", "/tagged", { headers: { "if-match": first } })).status).toBe(412)
      expect((yield* call("GET", "/tagged")).body.description).toBe("B")
      expect((yield* call("DELETE", "/tagged", { headers: { "if-match": second } })).status).toBe(204)
      expect((yield* call("GET", "/tagged")).status).toBe(404)
    })
  )

  it.effect("§6.1 changes are in the operator's log, and a put that changes nothing is not", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const { call: any } = yield* TestServer
      yield* call("PUT", "/logged", { body: { group: "A" } })
      const before = yield* call("GET", "/logged")
      yield* call("PUT", "/logged", { body: { group: "A", examples: [] } })
      expect((yield* call("GET", "/logged")).text).toBe(before.text)
      yield* call("PUT", "/logged", { body: { group: "B" } })
      yield* call("DELETE", "/logged")

      const { body } = yield* any("GET", "/audit-events?target=logged", { token: OPERATOR_TOKEN })

      expect(body.items.map(({ action, changes, target }) => [action, target, changes])).toEqual([
        ["event_type.deleted", { type: "event_type", id: "logged" }, { fields: [] }],
        ["event_type.updated", { type: "event_type", id: "logged" }, { fields: ["group"] }],
        ["event_type.created", { type: "event_type", id: "logged" }, expect.anything()]
      ])
    })
  )

  it.effect("§6.2 refuse: a payload that does not fit is not published, alone, in a batch, by a tool", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const { url } = yield* TestServer
      const ws = yield* entered
      const schema = { type: "object", properties: { total: { type: "integer" } }, required: ["id"] }
      const fits = { eventType: "refusing", payload: { id: 1 }, idempotencyKey: "a" }
      const unfit = { eventType: "refusing", payload: { total: "x" } }
      yield* ws.call("POST", "/events", { body: { ...unfit, idempotencyKey: "before" } })
      yield* call("PUT", "/refusing", { body: { schema, validation: "refuse" } })

      const refused = yield* ws.call("POST", "/events", { body: unfit })
      const batch = yield* ws.call("POST", "/events/batch", {
        body: { events: [fits, unfit, { eventType: "other", payload: {} }] }
      })
      const tool = yield* callTool(url, ws.token, "publish_event", unfit)
      const again = yield* ws.call("POST", "/events", { body: { ...unfit, idempotencyKey: "before" } })
      const published = yield* ws.call("POST", "/events", { body: fits })

      expect([refused.status, refused.body._tag, refused.body.issues]).toEqual([
        400,
        "InvalidPayload",
        [
          { path: "/id", message: "is missing" },
          { path: "/total", message: "must be integer" }
        ]
      ])
      expect(batch.body.issues).toEqual([
        { path: "/events/1/payload/id", message: "is missing" },
        { path: "/events/1/payload/total", message: "must be integer" }
      ])
      expect(JSON.parse(tool.content[0]!.text)._tag).toBe("InvalidPayload")
      expect([again.status, again.body.duplicate]).toEqual([202, true])
      expect([published.status, published.body.duplicate]).toEqual([202, false])
      const { body } = yield* ws.call("GET", "/events?eventType=refusing")
      expect(body.items).toHaveLength(2)
      expect((yield* call("GET", "/refusing")).body.deviations).toEqual({
        count: 0,
        since: null,
        lastEventId: null
      })
    })
  )

  it.effect("§6.2 report: a payload that does not fit is published, and counted once", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const [ws, other] = [yield* entered, yield* entered]
      yield* call("PUT", "/reporting", { body: { schema: { type: "object" }, validation: "report" } })
      const publishing = (payload: unknown, idempotencyKey?: string) => ({
        eventType: "reporting",
        payload,
        idempotencyKey
      })
      const deviations = (where: typeof ws) =>
        Effect.map(where.call("GET", "/event-types/reporting"), ({ body }) => body.deviations)

      const first = yield* ws.call("POST", "/events", { body: publishing(1, "key") })
      yield* ws.call("POST", "/events", { body: publishing(1, "key") })
      yield* ws.call("POST", "/events", { body: publishing({}) })
      const batch = yield* ws.call("POST", "/events/batch", {
        body: { events: [publishing({}), publishing(2), publishing(1, "key")] }
      })
      yield* other.call("POST", "/events", { body: publishing([]) })

      const { createdAt } = (yield* ws.call("GET", `/events/${first.body.id}`)).body
      expect(yield* deviations(ws)).toEqual({
        count: 2,
        since: createdAt,
        lastEventId: batch.body.items[1]!.id
      })
      expect(yield* deviations(other)).toMatchObject({ count: 1 })
      expect((yield* call("GET", "/reporting")).body.deviations).toMatchObject({ count: 3, since: createdAt })
      expect(
        (yield* call("GET", "?limit=200")).body.items.find((type) => type.eventType === "reporting")!
          .deviations
      ).toMatchObject({ count: 3 })
    })
  )

  it.effect("§6.2 schemas and examples are checked at the put", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const put = (body: unknown) =>
        Effect.map(call("PUT", "/checked", { body }), ({ body: { _tag, issues }, status }) => [
          status,
          _tag,
          (issues as ReadonlyArray<{ readonly path: string }>).map(({ path }) => path)
        ])

      expect(yield* put({ schema: { properties: { a: { minimun: 1 } } } })).toEqual([
        400,
        "InvalidSchema",
        ["/properties/a/minimun"]
      ])
      expect(yield* put({ schema: { type: "object" }, examples: [{}, 1, { a: 1 }] })).toEqual([
        400,
        "InvalidRequest",
        ["/examples/1"]
      ])
      expect(yield* put({ validation: "refuse" })).toEqual([400, "InvalidRequest", ["/validation"]])
      expect((yield* call("GET", "/checked")).status).toBe(404)
    })
  )

  it.effect("§6.2 official cases pass the put and a publish as they are judged", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const ws = yield* entered
      const wrong: Array<unknown> = []
      let [published, refused] = [0, 0]
      for (const [file, group, schema, cases] of groups.filter((_, index) => index % SAMPLE === 0)) {
        const put = yield* call("PUT", "/suite", { body: { schema, validation: "refuse" } })
        if (put.body._tag === "InvalidSchema") refused++
        else
          for (const [description, payload, valid] of cases) {
            const { body } = yield* ws.call("POST", "/events", { body: { eventType: "suite", payload } })
            published++
            if (valid ? body.duplicate !== false : body._tag !== "InvalidPayload")
              wrong.push([file, group, description, body])
          }
      }
      expect(wrong).toEqual([])
      expect(published).toBeGreaterThan(100)
      expect(refused).toBeLessThan(5)
    })
  )

  it.effect("§6.2 drafts a schema from real events, which they all fit, and tries another on them", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const [ws, other] = [yield* entered, yield* entered]
      yield* publish(ws, "drafted", { id: 1, note: "x" })
      yield* publish(other, "drafted", { id: "a", lines: [{ n: 1 }] })
      const { id } = yield* publish(ws, "drafted", { id: 2 })
      const check = (schema: unknown) => call("POST", "/drafted/check-schema", { body: { schema } })

      const draft = yield* call("GET", "/drafted/draft-schema")
      const newest = yield* call("GET", "/drafted/draft-schema?events=1")
      const checked = yield* check(draft.body.schema)
      const narrow = { properties: { id: { type: "integer" }, note: { type: "string" } }, required: ["note"] }
      yield* call("PUT", "/drafted", { body: { schema: draft.body.schema } })
      const deviating = yield* check(narrow)

      expect(draft.body).toMatchObject({ examined: 3, schema: { required: ["id"] } })
      expect(newest.body.examined).toBe(1)
      expect(checked.body).toMatchObject({ examined: 3, fitting: 3, deviating: [] })
      expect(deviating.body).toMatchObject({ examined: 3, fitting: 1 })
      const found = deviating.body.deviating as ReadonlyArray<Record<string, unknown>>
      expect(found[0]).toEqual({
        eventId: id,
        workspace: ws.slug,
        issues: [{ path: "/note", message: "is missing" }]
      })
      expect(found[1]!.workspace).toBe(other.slug)
      expect(deviating.body.changes).toContainEqual({ path: "/id", change: "narrowed" })
      expect((yield* check({ minimun: 1 })).body._tag).toBe("InvalidSchema")
      expect((yield* call("GET", "/never/draft-schema")).body._tag).toBe("EventTypeNotFound")
    })
  )

  it.effect("§6.2 test sends take the first example, and are not judged", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const ws = yield* entered
      const text = '{"schema":{"type":"object"},"examples":[{"b":1.0,"a":2}],"validation":"refuse"}'
      yield* call("PUT", "/tested", { text })
      const endpointId = yield* makeEndpoint(ws)
      const send = (body: object) =>
        ws.call("POST", `/webhooks/${endpointId}/test-event`, { body: { eventType: "tested", ...body } })

      expect((yield* send({})).text).toContain('"payload":{"b":1.0,"a":2}')
      expect((yield* send({ payload: 1 })).status).toBe(202)
      expect((yield* send({ eventType: "untested" })).text).toContain("This is a test event")
    })
  )

  it.scoped("§6.2 another process judges by a new schema within a second", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const ws = yield* entered
      const { call: other } = yield* anotherServer()
      const body = { eventType: "renewed", payload: 1 }
      const publishThere = other("POST", `/workspaces/${ws.slug}/events`, { token: ws.token, body })
      expect((yield* publishThere).status).toBe(202)
      yield* call("PUT", "/renewed", { body: { schema: { type: "string" }, validation: "refuse" } })

      const began = Date.now()
      yield* until(publishThere, ({ status }) => status === 400)

      expect(Date.now() - began).toBeLessThan(1_000)
    })
  )

  it.effect("§6.2 a workspace lists described and seen types together, and never hidden ones", () =>
    Effect.gen(function* () {
      const call = yield* asOperator
      const ws = yield* entered
      yield* call("PUT", "/listed.both", { body: { description: "Both", group: "G" } })
      yield* call("PUT", "/listed.described", { body: { deprecated: true, validation: "off" } })
      yield* call("PUT", "/listed.hidden", { body: { description: "Secret", hidden: true } })
      yield* publish(ws, "listed.both")
      yield* publish(ws, "listed.hidden")
      yield* publish(ws, "listed.seen")
      const listed = (answer: {
        readonly body: { readonly items: ReadonlyArray<Record<string, unknown>> }
      }) =>
        answer.body.items
          .filter(({ eventType }) => String(eventType).startsWith("listed."))
          .map((type) => [type.eventType, type.described, type.description, type.lastSeenAt !== null])

      const mine = yield* ws.call("GET", "/event-types?limit=200")
      const operators = yield* ws.call("GET", "/event-types?limit=200", { token: OPERATOR_TOKEN })
      const page = yield* ws.call("GET", "/event-types?limit=1")
      const next = yield* ws.call("GET", `/event-types?limit=200&cursor=${page.body.nextCursor}`)

      expect(listed(mine)).toEqual([
        ["listed.both", true, "Both", true],
        ["listed.described", true, null, false],
        ["listed.hidden", false, null, true],
        ["listed.seen", false, null, true]
      ])
      expect(listed(operators)[2]).toEqual(["listed.hidden", true, "Secret", true])
      expect([...page.body.items, ...next.body.items]).toEqual(mine.body.items)
      expect((yield* ws.call("GET", "/event-types/listed.both")).body.group).toBe("G")
      expect((yield* ws.call("GET", "/event-types/listed.hidden")).body._tag).toBe("EventTypeNotFound")
      expect((yield* ws.call("GET", "/event-types/listed.seen")).body._tag).toBe("EventTypeNotFound")
      const all = yield* call("GET", "?limit=200")
      expect(all.body.items.map(({ eventType }) => eventType)).toContain("listed.hidden")
    })
  )
})
