import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import { connect, makeEndpoint, type Published } from "../Fixtures.ts"
import { type Call, type Entered, entered, type Loose, testServer } from "../TestServer.ts"

const post = (call: Call, body: object, headers: Record<string, string> = {}) =>
  call<Published & Loose>("POST", "/events", { body, headers })

const batch = (call: Call, events: ReadonlyArray<object>) =>
  call<{ readonly items: ReadonlyArray<Published>; readonly _tag?: string }>("POST", "/events/batch", {
    body: { events }
  })

const storedEvents = (ws: Entered) =>
  Effect.map(
    rows<{ n: number }>`select count(*) as n from posthorn.events
        where workspace_id = ${ws.workspaceId} and event_type like 'invoice.%'`,
    ([row]) => row!.n
  )

const event = (idempotencyKey?: string, payload: unknown = { n: 1 }, eventType = "invoice.paid") => ({
  eventType,
  payload,
  ...(idempotencyKey === undefined ? {} : { idempotencyKey })
})

layer(testServer(), { excludeTestServices: true })("publishing", (it) => {
  it.effect("§6 queues one delivery for each enabled endpoint whose subscriptions match", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const types = [
        ["invoice.paid"],
        ["invoice.*"],
        ["*"],
        ["invoice.paid", "*"],
        ["invoice"],
        ["invoice.paid.*"]
      ]
      const endpoints: Array<string> = []
      for (const eventTypes of types) endpoints.push(yield* makeEndpoint(ws, { eventTypes }))
      yield* makeEndpoint(ws, { enabled: false })

      const published = yield* post(ws.call, event())

      expect(published).toMatchObject({ status: 202, body: { eventType: "invoice.paid", duplicate: false } })
      expect(published.body.id).toMatch(/^evt_[0-9a-f]{29}$/)
      const rows = yield* Effect.forEach(published.body.deliveryIds, (id) =>
        Effect.map(ws.call("GET", `/webhooks/deliveries/${id}`), ({ body }) => body)
      )
      expect(rows.map(({ endpointId }) => endpointId).sort()).toEqual(endpoints.slice(0, 4).sort())
      expect(rows.every(({ eventId }) => eventId === published.body.id)).toBe(true)
    })
  )

  it.effect("§4.4 refuses reserved prefixes, malformed types and missing members", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const bad = [
        [{ ...event(), eventType: "webhook.test_event" }, "/eventType"],
        [{ ...event(), eventType: "member.added" }, "/eventType"],
        [{ ...event(), eventType: "api_token.x" }, "/eventType"],
        [{ ...event(), eventType: "a..b" }, "/eventType"],
        [{ ...event(), eventType: "a".repeat(129) }, "/eventType"],
        [{ eventType: "a.b" }, "/payload"],
        [event(""), "/idempotencyKey"],
        [event("k".repeat(256)), "/idempotencyKey"],
        [event("nul\u0000"), "/idempotencyKey"],
        [event("\ud800"), "/idempotencyKey"],
        [{ ...event(), extra: 1 }, "/extra"]
      ] as const

      for (const [body, path] of bad) {
        const answer = yield* post(ws.call, body)
        expect(answer, JSON.stringify(body)).toMatchObject({ status: 400, body: { issues: [{ path }] } })
        const inBatch = yield* batch(ws.call, [event(), body])
        expect(inBatch, JSON.stringify(body)).toMatchObject({
          status: 400,
          body: { issues: [{ path: `/events/1${path}` }] }
        })
      }
      expect(yield* storedEvents(ws)).toBe(0)
    })
  )

  it.effect("§4.4 a refusal names the first mistake, and the number of others", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const several = yield* post(ws.call, { type: "a.b", data: {} })
      const one = yield* post(ws.call, { eventType: "a.b" })

      expect(several.body).toMatchObject({
        detail: "/eventType: is missing (and 3 more: see issues)",
        issues: [{}, {}, {}, {}]
      })
      expect(one.body).toMatchObject({ detail: "/payload: is missing" })
    })
  )

  it.effect("§4.4 publishes a batch of 1 to 1,000 events, answered in their order", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* makeEndpoint(ws, { eventTypes: ["invoice.odd"] })
      const events = Array.from({ length: 1000 }, (_, n) =>
        event(undefined, { n }, n % 2 === 1 ? "invoice.odd" : "invoice.even")
      )

      const answer = yield* batch(ws.call, events)
      const none = yield* batch(ws.call, [])
      const tooMany = yield* batch(ws.call, [...events, event()])

      expect(answer.status).toBe(202)
      expect(answer.body.items.map(({ eventType }) => eventType)).toEqual(
        events.map(({ eventType }) => eventType)
      )
      expect(answer.body.items.map(({ deliveryIds }) => deliveryIds.length)).toEqual(
        events.map((_, n) => n % 2)
      )
      const ids = answer.body.items.map(({ id }) => id)
      expect(ids).toEqual([...ids].sort())
      const last = answer.body.items[999]!.deliveryIds[0]
      expect((yield* ws.call("GET", `/webhooks/deliveries/${last}`)).body.payload).toEqual({ n: 999 })
      for (const refused of [none, tooMany]) {
        expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: "/events" }] } })
      }
      expect(yield* storedEvents(ws)).toBe(1000)
    })
  )

  it.effect("§4.4 answers the same key as before, and creates nothing", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* makeEndpoint(ws)

      const first = yield* post(ws.call, event("k"))
      yield* makeEndpoint(ws)
      const again = yield* post(ws.call, event("k"))
      const spaced = yield* ws.call("POST", "/events", {
        text: '{ "payload" : { "n" :\n 1 } , "idempotencyKey":"k", "eventType":"invoice.paid" }'
      })
      const byHeader = yield* post(ws.call, event(), { "idempotency-key": "k" })
      const inBatch = yield* batch(ws.call, [event("k"), event("new"), event("new")])

      expect(first.body.duplicate).toBe(false)
      for (const answer of [again, spaced, byHeader]) {
        expect(answer).toMatchObject({ status: 202, body: { ...first.body, duplicate: true } })
      }
      expect(inBatch.body.items.map(({ duplicate }) => duplicate)).toEqual([true, false, true])
      expect(inBatch.body.items[2]!.id).toBe(inBatch.body.items[1]!.id)
      expect(inBatch.body.items[2]!.deliveryIds).toEqual(inBatch.body.items[1]!.deliveryIds)
      expect(yield* storedEvents(ws)).toBe(2)
    })
  )

  it.effect("§4.4 refuses a key that was used for something else, and the whole batch with it", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      yield* post(ws.call, event("k"))

      const otherPayload = yield* post(ws.call, event("k", { n: 1.0, m: 2 }))
      const otherSpelling = yield* ws.call("POST", "/events", {
        text: '{"payload":{"n":1.0},"idempotencyKey":"k","eventType":"invoice.paid"}'
      })
      const otherType = yield* post(ws.call, event("k", { n: 1 }, "invoice.sent"))
      const twoKeys = yield* post(ws.call, event("k"), { "idempotency-key": "l" })
      const inBatch = yield* batch(ws.call, [event(), event("k", 2)])
      const elsewhere = yield* post(other.call, event("k", 2))

      for (const refused of [otherPayload, otherSpelling, otherType, inBatch]) {
        expect(refused).toMatchObject({ status: 409, body: { _tag: "IdempotencyKeyReused" } })
      }
      expect(inBatch.body).toMatchObject({ path: "/events/1/idempotencyKey" })
      expect(twoKeys).toMatchObject({ status: 400, body: { issues: [{ path: "/idempotencyKey" }] } })
      expect(elsewhere.status).toBe(202)
      expect(yield* storedEvents(ws)).toBe(1)
    })
  )

  it.effect("§4.4 frees a key after 24 hours", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const first = yield* post(ws.call, event("k"))

      yield* sql`update posthorn.idempotency_keys set created_at = now() - interval '23 hours 59 minutes'
        where workspace_id = ${ws.workspaceId}`
      const before = yield* post(ws.call, event("k"))
      yield* sql`update posthorn.idempotency_keys set created_at = now() - interval '24 hours'
        where workspace_id = ${ws.workspaceId}`
      const after = yield* post(ws.call, event("k", "another"))

      expect(before.body).toMatchObject({ id: first.body.id, duplicate: true })
      expect(after).toMatchObject({ status: 202, body: { duplicate: false } })
      expect(after.body.id).not.toBe(first.body.id)
    })
  )

  it.effect("§4.4 accepts concurrent batches with the same keys in opposite orders", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const events = Array.from({ length: 300 }, (_, n) => ({
        eventType: "a.b",
        payload: 1,
        idempotencyKey: `ring-${n}`
      }))
      const batches = [events, events.toReversed(), events, events.toReversed()]

      const answers = yield* Effect.forEach(
        batches,
        (batch) =>
          ws.call<{ items: ReadonlyArray<Published> }>("POST", "/events/batch", { body: { events: batch } }),
        { concurrency: "unbounded" }
      )

      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202])
      const fresh = answers.filter(({ body }) => body.items.every(({ duplicate }) => !duplicate))
      expect(fresh.length).toBe(1)
    })
  )

  it.scoped(
    "§4.4 waits for the transaction that holds a key: after its commit its answer is given, after a rollback the key is free",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const holder = yield* connect
        const query = (text: string, ...values: ReadonlyArray<string>) =>
          Effect.promise(() => holder.query<{ id: string }>(text, [...values]))
        const hold = query(
          "select id from posthorn.publish($1, 'invoice.paid', $2::json, $3)",
          ws.slug,
          '{"n":1}',
          "k"
        )
        const sql = yield* SqlClient
        const waiting = sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%publish_all%'`.pipe(
          Effect.repeat({ until: (rows) => rows.length > 0 }),
          Effect.timeout("30 seconds")
        )
        const raceWith = (end: "commit" | "rollback") =>
          Effect.gen(function* () {
            yield* query("begin")
            const held = (yield* hold).rows[0]!
            const fiber = yield* Effect.fork(post(ws.call, event("k")))
            yield* waiting
            yield* query(end)
            return { held, answer: yield* fiber }
          })

        const rolledBack = yield* raceWith("rollback")
        yield* sql`delete from posthorn.idempotency_keys where workspace_id = ${ws.workspaceId}`
        const committed = yield* raceWith("commit")

        expect(rolledBack.answer.body).toMatchObject({ duplicate: false })
        expect(rolledBack.answer.body.id).not.toBe(rolledBack.held.id)
        expect(committed.answer.body).toMatchObject({ id: committed.held.id, duplicate: true })
      })
  )
})

/** JSON texts that parsing and writing would change, or that a database would refuse. */
const TEXTS = [
  '{"b":1,"a":2,"10":3,"2":4}',
  "[1.0,1e3,1E+3,-0,0.10,100000000000000000000000]",
  "9007199254740993",
  '{"same":1,"same":2}',
  '"\\u0000"',
  '["\\ud800","\\udfff x","\\ud83d\\ude00","😀"]',
  '"\\u00e9 é \\/ / \\b"',
  '{"__proto__":{"x":1},"":0}',
  "null",
  "false",
  '""',
  ' {  "spaced" :\t[ 1 ,\n2 ] } ',
  `${"[".repeat(100)}1${"]".repeat(100)}`,
  `{"long":"${"x".repeat(100_000)}"}`
]

/** A publish whose body has this many bytes. */
const bodyOf = (bytes: number) => {
  const [head, tail] = ['{"eventType":"a.b","payload":"', '"}']
  return `${head}${"x".repeat(bytes - head.length - tail.length)}${tail}`
}

layer(testServer(), { excludeTestServices: true })("payloads", (it) => {
  it.effect("§2.7 carries a payload exactly as it was written, alone and in a batch", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      yield* makeEndpoint(ws)
      const storedOf = (deliveryId: string) =>
        Effect.map(
          sql<{ payload: string | null; event: string }>`
            select l.payload, e.payload as event from posthorn.deliveries d
            cross join posthorn.load(array[d.workspace_id::text], array[d.id::text], array[d.endpoint_id::text], array[0::smallint], array[null::bigint]) l
            join posthorn.events e on e.workspace_id = d.workspace_id and e.id = d.event_id
            where d.workspace_id = ${ws.workspaceId} and d.id = ${deliveryId}`,
          ([row]) => row!
        )

      const inBatch = yield* ws.call<{ items: ReadonlyArray<Published> }>("POST", "/events/batch", {
        text: `{"events":[${TEXTS.map((text) => `{"eventType":"a.b","payload":${text}}`)}]}`
      })

      for (const [n, text] of TEXTS.entries()) {
        const alone = yield* ws.call<Published>("POST", "/events", {
          text: `{"eventType":"a.b","payload":${text}}`
        })
        expect(alone.status, text.slice(0, 80)).toBe(202)
        for (const { deliveryIds } of [alone.body, inBatch.body.items[n]!]) {
          const read = yield* ws.call("GET", `/webhooks/deliveries/${deliveryIds[0]}`)
          // A load leaves large payloads out; they are read by themselves.
          const loaded = Buffer.byteLength(text.trim()) > 65_536 ? null : text.trim()
          expect(yield* storedOf(deliveryIds[0]!)).toEqual({ payload: loaded, event: text.trim() })
          expect(read.text).toContain(`"payload":${text.trim()},`)
        }
      }
    })
  )

  it.effect("§2.7 refuses payloads that it cannot carry, and stores nothing of them", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const deep = `${"[".repeat(101)}${"]".repeat(101)}`
      const send = (text: string) => ws.call("POST", "/events", { text })

      const tooDeep = yield* send(`{"eventType":"a.b","payload":${deep}}`)
      const tooDeepInBatch = yield* ws.call("POST", "/events/batch", {
        text: `{"events":[{"eventType":"a.b","payload":1},{"eventType":"a.b","payload":${deep}}]}`
      })
      const broken = yield* send('{"eventType":"a.b","payload":{"x":01}}')
      const largest = yield* send(bodyOf(1_048_576))
      const tooLarge = yield* send(bodyOf(1_048_577))

      expect(tooDeep).toMatchObject({ status: 400, body: { issues: [{ path: "/payload" }] } })
      expect(tooDeepInBatch).toMatchObject({ status: 400, body: { issues: [{ path: "/events/1/payload" }] } })
      expect(broken).toMatchObject({ status: 400, body: { _tag: "InvalidRequest" } })
      expect(largest.status).toBe(202)
      expect(tooLarge).toMatchObject({
        status: 413,
        body: { _tag: "PayloadTooLarge", limitBytes: 1_048_576 }
      })
    })
  )
})
