/** Explaining signatures: each verdict, and that the operation is no help for forging one. */
import { createHmac, randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint, publish, unknown } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, TestServer, testServer } from "../TestServer.ts"

const PAYLOAD = '{"total":1.50,"note":"a  b","ids":[12345678901234567890]}'

const generateSecret = () => `whsec_${randomBytes(32).toString("base64")}`

interface Signed {
  readonly id: string
  readonly timestamp: number
  readonly body: string
  readonly secrets: ReadonlyArray<string>
}

/** Implements the specification without our library. */
const sign = ({ body, id, secrets, timestamp }: Signed) =>
  secrets
    .map((secret) => createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64")))
    .map((hmac) => `v1,${hmac.update(`${id}.${timestamp}.${body}`).digest("base64")}`)
    .join(" ")

interface Explained {
  readonly verdict: string
  readonly explanation: string
}

const now = () => Math.floor(Date.now() / 1000)

/** An endpoint with a known secret, and a delivery to it as the receiver gets it. */
const world = Effect.gen(function* () {
  const ws: Entered = yield* entered
  const endpointId = yield* makeEndpoint(ws)
  const path = `/webhooks/${endpointId}`
  const rotate = Effect.map(
    ws.call("POST", `${path}/rotate-secret`),
    ({ body }) => body.signingSecret as string
  )
  const secret = yield* rotate
  const published = yield* ws.call("POST", "/events", {
    text: `{"eventType":"invoice.paid","payload":${PAYLOAD}}`
  })
  const [id] = published.body.deliveryIds as ReadonlyArray<string>
  const body = `{"deliveryId":"${id}","eventType":"invoice.paid","payload":${PAYLOAD}}`
  const headersBy = (secrets: ReadonlyArray<string>, timestamp = now(), signed = body) => ({
    "webhook-id": id!,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign({ id: id!, timestamp, body: signed, secrets })
  })
  const explain = (headers: object, given = body) =>
    Effect.map(
      ws.call<Explained>("POST", `${path}/explain-signature`, { body: { headers, body: given } }),
      (answer) => ({ ...answer.body, status: answer.status })
    )
  return { body, endpointId, explain, headersBy, id: id!, path, rotate, secret, ws }
})

layer(testServer(), { excludeTestServices: true })("explaining signatures", (it) => {
  it.effect("§4.6 a signature by the current secret over the sent body is right", () =>
    Effect.gen(function* () {
      const { explain, headersBy, secret } = yield* world
      const headers = headersBy([secret])
      const shouted = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])
      )

      expect(yield* explain(headers)).toMatchObject({ status: 200, verdict: "right" })
      expect((yield* explain({ ...shouted, "content-type": "application/json" })).verdict).toBe("right")
      expect((yield* explain(headersBy([generateSecret(), secret]))).verdict).toBe("right")
    })
  )

  it.effect("§4.6 the previous secret is recognised, within its grace window and after", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { endpointId, explain, headersBy, rotate, secret } = yield* world
      const next = yield* rotate

      const both = yield* explain(headersBy([next, secret]))
      const old = yield* explain(headersBy([secret]))
      yield* sql`update posthorn.endpoints set previous_secret_expires_at = now() - interval '1 hour'
        where id = ${endpointId}`
      const late = yield* explain(headersBy([secret]))
      yield* rotate
      const gone = yield* explain(headersBy([secret]))

      expect(both.verdict).toBe("right")
      expect(old).toMatchObject({
        verdict: "previous_secret",
        explanation: expect.stringContaining("until 20")
      })
      expect(late).toMatchObject({ verdict: "previous_secret", explanation: expect.stringContaining("over") })
      expect(gone.verdict).toBe("wrong_secret")
    })
  )

  it.effect("§4.6 a body that was changed on its way is recognised, and how it was changed", () =>
    Effect.gen(function* () {
      const { body, explain, headersBy, rotate, secret } = yield* world
      const changes: ReadonlyArray<readonly [string, string]> = [
        [`${body}\n`, "white space"],
        [JSON.stringify(JSON.parse(body), null, 2), "written anew"],
        [JSON.stringify(JSON.parse(body)), "written anew"],
        [body.replaceAll(",", ", ").replace("a  b", "a  b"), "white space"],
        ["", "empty"],
        [body.slice(0, -10), "end is missing"],
        [body.replace("a  b", "c"), "not what was sent"]
      ]

      for (const [changed, how] of changes) {
        const told = yield* explain(headersBy([secret]), changed)
        expect([changed, told.verdict]).toEqual([changed, "body_changed"])
        expect(told.explanation).toContain(how)
      }
      yield* rotate
      expect((yield* explain(headersBy([secret]), `${body} `)).verdict).toBe("body_changed")
    })
  )

  it.effect("§4.6 usual changes are recognised even when the delivery is not on record", () =>
    Effect.gen(function* () {
      const { explain, secret } = yield* world
      const id = unknown("whd_")
      const timestamp = now()
      const sent = '{"a":1}'
      const headers = {
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": sign({ id, timestamp, body: sent, secrets: [secret] })
      }

      for (const changed of ['{"a": 1}', '{"a":1}\n', '\uFEFF{"a":1}', '{"a":1.0}']) {
        expect([changed, (yield* explain(headers, changed)).verdict]).toEqual([changed, "body_changed"])
      }
      expect((yield* explain(headers, '{"a":2}')).verdict).toBe("wrong_secret")
    })
  )

  it.effect("§4.6 a timestamp more than five minutes off is reported, in either direction", () =>
    Effect.gen(function* () {
      const { explain, headersBy, secret } = yield* world

      const old = yield* explain(headersBy([secret], now() - 330))
      const early = yield* explain(headersBy([secret], now() + 330))
      const fine = yield* explain(headersBy([secret], now() - 280))

      expect([old, early, fine].map(({ verdict }) => verdict)).toEqual([
        "timestamp_off",
        "timestamp_off",
        "right"
      ])
      expect(old.explanation).toContain("behind")
      expect(early.explanation).toContain("ahead")
    })
  )

  it.effect("§4.6 missing or malformed headers are named", () =>
    Effect.gen(function* () {
      const { explain, headersBy, secret } = yield* world
      const headers = headersBy([secret])

      for (const name of Object.keys(headers)) {
        const { [name as keyof typeof headers]: _, ...rest } = headers
        const told = yield* explain(rest)
        expect(told).toMatchObject({ verdict: "header_missing", explanation: expect.stringContaining(name) })
      }
      const maimed = yield* explain({ ...headers, "webhook-timestamp": "Sun, 22 Nov 2026 02:00:00 GMT" })
      expect(maimed).toMatchObject({
        verdict: "header_missing",
        explanation: expect.stringContaining("seconds")
      })
    })
  )

  it.effect("§4.6 any other signature means a wrong secret, also that of another endpoint", () =>
    Effect.gen(function* () {
      const { explain, headersBy, id, secret, ws } = yield* world
      const other = yield* makeEndpoint(ws, { eventTypes: ["other"] })
      const headers = headersBy([secret])

      const strange = yield* explain(headersBy([generateSecret()]))
      const maimed = yield* explain({
        ...headers,
        "webhook-signature": headers["webhook-signature"].slice(0, -2)
      })
      const elsewhere = yield* ws.call<Explained>("POST", `/webhooks/${other}/explain-signature`, {
        body: { headers, body: `{"deliveryId":"${id}"}` }
      })

      expect([strange, maimed, elsewhere.body].map(({ verdict }) => verdict)).toEqual(
        Array.from({ length: 3 }, () => "wrong_secret")
      )
    })
  )

  it.effect("§4.6 no answer contains a secret or a signature that was not given; nothing is stored", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { body, explain, headersBy, rotate, secret, ws } = yield* world
      const counts = sql`select (select count(*) from posthorn.audit_events where workspace_id = ${ws.workspaceId}) as audits,
        (select count(*) from posthorn.deliveries where workspace_id = ${ws.workspaceId}) as deliveries,
        (select count(*) from posthorn.attempts where workspace_id = ${ws.workspaceId}) as attempts,
        (select count(*) from posthorn.idempotent_answers where workspace_id = ${ws.workspaceId}) as answers`
      const next = yield* rotate
      const right = headersBy([next, secret])
      const before = yield* counts

      for (const given of [body, `${body} `, body.slice(1), "x", ""]) {
        for (const headers of [
          right,
          { ...right, "webhook-signature": "v1,AAAA" },
          { ...right, "webhook-signature": "v1," },
          headersBy([generateSecret()])
        ]) {
          const told = JSON.stringify(yield* explain(headers, given))
          expect(told).not.toMatch(/whsec_|v1,|[A-Za-z0-9+/]{30,}/)
        }
      }
      expect(yield* counts).toEqual(before)
    })
  )

  it.effect("§4.6 headers are an object of at most 100 texts, and a body is required", () =>
    Effect.gen(function* () {
      const { body, endpointId, headersBy, path, secret, ws } = yield* world
      const { url } = yield* TestServer
      const headers = headersBy([secret])
      const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`h${n}`, "x"]))

      for (const wrong of [
        { headers: many, body },
        { headers: [], body },
        { headers: { a: 1 }, body },
        { headers }
      ]) {
        const answer = yield* ws.call("POST", `${path}/explain-signature`, { body: wrong })
        expect([answer.status, answer.body._tag]).toEqual([400, "InvalidRequest"])
      }
      const tool = yield* callTool(url, ws.token, "explain_signature", { endpointId, headers, body })
      expect(tool.structuredContent).toMatchObject({ verdict: "right" })
      yield* publish(ws)
    })
  )

  it.effect("§3.3 a secret that no key opens is a refusal, and a previous one is as good as gone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { endpointId, explain, headersBy, rotate } = yield* world
      const secret = yield* rotate
      const lose = (column: string) =>
        sql`update posthorn.endpoints set ${sql(column)} = sha512(${sql(column)}) where id = ${endpointId}`
      yield* lose("previous_secret")
      expect((yield* explain(headersBy([secret]))).verdict).toBe("right")
      yield* lose("secret")
      expect(yield* explain(headersBy([secret]))).toMatchObject({
        status: 400,
        issues: [{ path: "", message: expect.stringContaining("ENCRYPTION_KEY") }]
      })
    })
  )
})
