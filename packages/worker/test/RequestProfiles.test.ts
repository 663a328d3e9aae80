/** Requests that follow their endpoint's profile, on a real PostgreSQL and real sockets. */
import { createHmac } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import type { RequestProfile } from "@posthorn/domain/RequestProfile"
import { type Behaviour, make as makeReceiver, type Received } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import {
  attempts,
  drained,
  endpoint,
  endpointRow,
  publish,
  Setting,
  setRequest,
  until,
  type Workspace,
  worker,
  workspace
} from "./Setting.ts"

const PAYLOAD = '{"total": 1e3}'

/** Secrets by header, or by `authentication`. */
interface Secrets {
  readonly headers?: Readonly<Record<string, string>>
  readonly authentication?: string
}

const profiled = (acme: Workspace, url: string, profile: RequestProfile, secrets: Secrets = {}) =>
  Effect.gen(function* () {
    const made = yield* endpoint(acme, url)
    yield* setRequest(acme, made.id, profile, secrets)
    return made
  })

const asSent = ({ body, headers }: Pick<Received, "body" | "headers">) => ({
  body: body.toString("utf8"),
  headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
})

/** The one request that an endpoint with this profile gets, and the headers stored of it. */
const requestOf = (profile: RequestProfile, secrets?: Secrets) =>
  Effect.gen(function* () {
    const receiver = yield* makeReceiver()
    const acme = yield* workspace
    const { secret } = yield* profiled(acme, receiver.url("/status/200"), profile, secrets)
    const [id] = yield* publish(acme, 1, "invoice.paid", PAYLOAD)
    yield* worker()
    const [request] = yield* receiver.waitFor(1)
    yield* drained(acme)
    const [attempt] = yield* attempts(acme)
    return { acme, id: id!, secret, request: asSent(request!), kept: JSON.parse(attempt!.request_headers) }
  })

const HIDDEN = { secret: true, fingerprint: "0123456789abcdef" } as const

layer(Setting, { excludeTestServices: true })("a request profile", (it) => {
  it.scoped("§2.9 adds headers and credentials, and the evidence contains fingerprints of them", () =>
    Effect.gen(function* () {
      const { kept, request } = yield* requestOf(
        {
          headers: [
            { name: "X-Region", value: "eu 1" },
            { name: "User-Agent", value: "Acme/2" },
            { name: "X-Api-Key", ...HIDDEN }
          ],
          authentication: { kind: "basic", username: "me", ...HIDDEN }
        },
        { headers: { "x-api-key": "geheim-1" }, authentication: "geheim-2" }
      )

      const basic = `Basic ${Buffer.from("me:geheim-2").toString("base64")}`
      assert.strictEqual(request.headers["x-region"], "eu 1")
      assert.strictEqual(request.headers["user-agent"], "Acme/2")
      assert.strictEqual(request.headers["x-api-key"], "geheim-1")
      assert.strictEqual(request.headers.authorization, basic)
      assert.deepStrictEqual(kept, {
        "content-type": "application/json",
        "user-agent": "Acme/2",
        "accept-encoding": "identity",
        authorization: "sealed:0123456789abcdef",
        "X-Region": "eu 1",
        "X-Api-Key": "sealed:0123456789abcdef",
        "webhook-id": request.headers["webhook-id"],
        "webhook-timestamp": request.headers["webhook-timestamp"],
        "webhook-signature": request.headers["webhook-signature"],
        "x-trace-id": request.headers["x-trace-id"]
      })
    })
  )

  it.scoped("§2.9 removes the secrets from a stored answer that repeats them", () =>
    Effect.gen(function* () {
      const echo: Behaviour = (answer) => {
        const { authorization, "x-api-key": key } = asSent(answer.request).headers
        answer.reply(500, `${authorization} ${key} ${atob(authorization!.slice(6))}`, { Server: key! })
      }
      const receiver = yield* makeReceiver({ behaviours: { "/echo": echo } })
      const acme = yield* workspace
      yield* profiled(
        acme,
        receiver.url("/echo"),
        {
          headers: [{ name: "X-Api-Key", secret: true, fingerprint: "1111" }],
          authentication: { kind: "basic", username: "me", secret: true, fingerprint: "2222" }
        },
        { headers: { "x-api-key": '{"server":"geheim' }, authentication: "geheim-2" }
      )
      yield* publish(acme)
      yield* worker()
      const [attempt] = yield* until(attempts(acme), (all) => all.length > 0)

      assert.strictEqual(attempt!.response_body, "sealed:2222 sealed:1111 me:sealed:2222")
      assert.deepInclude(JSON.parse(attempt!.response_headers!), { server: "sealed:1111" })
    })
  )

  it.scoped("§2.9 sends a bearer token, also with a test send", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      const bearer = { authentication: { kind: "bearer", ...HIDDEN }, body: "standard" } as const
      yield* profiled(acme, receiver.url("/status/200"), bearer, { authentication: "geheim-3" })
      yield* publish(acme)
      yield* sql`update posthorn.deliveries set event_id = null, payload = '{}', created_at = '2026-01-02T03:04:05.678Z'
        where workspace_id = ${acme.id}`
      yield* worker()
      const [request] = yield* receiver.waitFor(1)

      const { body, headers } = asSent(request!)
      assert.strictEqual(headers.authorization, "Bearer geheim-3")
      assert.strictEqual(headers["x-posthorn-test"], "true")
      assert.deepInclude(JSON.parse(body), { timestamp: "2026-01-02T03:04:05.678Z" })
    })
  )

  it.scoped("§2.9 has bodies of four shapes, each signed as it is sent", () =>
    Effect.gen(function* () {
      for (const body of ["envelope", "payload", "standard", "cloudevents"] as const) {
        const { acme, id, request, secret } = yield* requestOf({ body })
        const sql = yield* SqlClient.SqlClient
        const [{ at }] =
          (yield* sql`select created_at as at from posthorn.events where workspace_id = ${acme.id}`) as [
            { readonly at: Date }
          ]
        const time = new Date(at).toISOString()
        const expected = {
          envelope: `{"deliveryId":"${id}","eventType":"invoice.paid","payload":${PAYLOAD}}`,
          payload: PAYLOAD,
          standard: `{"type":"invoice.paid","timestamp":"${time}","data":${PAYLOAD}}`,
          cloudevents: `{"specversion":"1.0","id":"${id}","source":"/workspaces/${acme.slug}","type":"invoice.paid","time":"${time}","datacontenttype":"application/json","data":${PAYLOAD}}`
        }
        assert.strictEqual(request.body, expected[body])
        assert.strictEqual(
          request.headers["content-type"],
          body === "cloudevents" ? "application/cloudevents+json" : "application/json"
        )
        new Webhook(secret).verify(request.body, request.headers)
      }
    })
  )

  it.scoped("§2.9 signs by the recipes that exist, and by no other", () =>
    Effect.gen(function* () {
      const hmac = { scheme: "hmac", algorithm: "sha256", encoding: "hex" } as const
      const stripe = {
        ...hmac,
        header: "Stripe-Signature",
        content: "{timestamp}.{body}",
        format: "t={timestamp},v1={signature}"
      }
      const { kept, request, secret } = yield* requestOf({ signatures: [stripe], body: "payload" })
      const signature = request.headers["stripe-signature"]!

      const timestamp = request.headers["webhook-timestamp"]!
      const digest = createHmac("sha256", secret).update(`${timestamp}.${request.body}`).digest("hex")
      assert.strictEqual(signature, `t=${timestamp},v1=${digest}`)
      assert.isUndefined(request.headers["webhook-signature"])
      assert.strictEqual(kept["Stripe-Signature"], signature)
    })
  )

  it.scoped("§2.9 can forge no standard signature, whatever is signed", () =>
    Effect.gen(function* () {
      const forging = {
        scheme: "hmac",
        algorithm: "sha256",
        encoding: "base64",
        header: "x-forged",
        content: "whd_forged.{timestamp}.{body}",
        format: "v1,{signature}"
      } as const
      const { request, secret } = yield* requestOf({ signatures: [forging], body: "payload" })
      const headers = { ...request.headers, "webhook-id": "whd_forged" }
      const by = (key: string | Buffer) =>
        new Webhook(key, { format: "raw" }).verify(request.body, {
          ...headers,
          "webhook-signature": request.headers["x-forged"]!
        })

      by(secret)
      assert.throws(() => by(Buffer.from(secret.slice("whsec_".length), "base64")), "No matching signature")
    })
  )

  it.scoped("§2.9 that this worker cannot read sends nothing, and counts no failure", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const newer = { body: "payload", compress: true } as RequestProfile
      const { id } = yield* profiled(acme, receiver.url("/status/200"), newer)
      yield* publish(acme)
      yield* worker()
      const sql = yield* SqlClient.SqlClient
      // biome-ignore lint/plugin: nothing is sent for as long
      yield* Effect.sleep("300 millis")
      assert.lengthOf(receiver.received, 0)
      assert.strictEqual((yield* endpointRow(id)).consecutive_failures, 0)
      yield* sql`update posthorn.endpoints set request = '{"body": "payload"}' where id = ${id}`
      yield* until(
        Effect.sync(() => receiver.received.length),
        (count) => count === 1
      )
    })
  )
})
