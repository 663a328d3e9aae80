/** Key pairs of endpoints, from the recipe that makes one to the receiver that verifies with the published key. */
import { createPublicKey, verify as ed25519 } from "node:crypto"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { verify } from "../../../signature/src/index.ts"
import { makeEndpoint, publish } from "../Fixtures.ts"
import { serverAndWorker } from "../mcp/Agent.ts"
import { anotherServer, type Entered, entered, type Loose, TestServer } from "../TestServer.ts"

const V1A = { signatures: [{ scheme: "standard_v1a" }] }
const BOTH = { signatures: [{ scheme: "standard_v1" }, { scheme: "standard_v1a" }] }

interface Jwk {
  readonly kid: string
  readonly x: string
}

/** Without a token. */
const keySet = (slug: string) =>
  Effect.flatMap(TestServer, ({ call }) =>
    call<{ readonly keys: ReadonlyArray<Jwk> }>("GET", `/workspaces/${slug}/.well-known/jwks.json`)
  )

const keysOf = (ws: Entered) => Effect.map(keySet(ws.slug), ({ body }) => body.keys)

const detailOf = (ws: Entered, id: string) =>
  Effect.map(ws.call("GET", `/webhooks/${id}`), ({ body }): Loose => body)

const asJwk = (kid: string, publicKey: unknown): object => ({
  kty: "OKP",
  crv: "Ed25519",
  alg: "EdDSA",
  use: "sig",
  kid,
  x: Buffer.from(String(publicKey).slice("whpk_".length), "base64").toString("base64url")
})

layer(serverAndWorker, { excludeTestServices: true })("an endpoint's key pair", (it) => {
  it.scoped(
    "§2.9 signs beside the secret, verifies with the published keys, and rotates with the secret",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const receiver = yield* makeReceiver()
        const id = yield* makeEndpoint(ws, { url: receiver.url("/ok"), request: BOTH })
        const path = `/webhooks/${id}`
        const next = (count: number) =>
          Effect.gen(function* () {
            yield* publish(ws)
            const { body, headers: all } = (yield* receiver.waitFor(count))[count - 1]!
            const headers = Object.fromEntries(all.map(([name, value]) => [name.toLowerCase(), value]))
            const entries = headers["webhook-signature"]!.split(" ")
            return { body, headers, entries, schemes: entries.map((entry) => entry.split(",")[0]) }
          })
        /** The set's keys that verify an entry, by node's own crypto. */
        const verifiedBy = ({ body, entries, headers }: Effect.Effect.Success<ReturnType<typeof next>>) =>
          Effect.map(keysOf(ws), (keys) =>
            entries.flatMap((entry) => {
              const [scheme, signature = ""] = entry.split(",")
              if (scheme !== "v1a") return []
              const signed = Buffer.concat([
                Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`),
                body
              ])
              return keys
                .filter((jwk) =>
                  ed25519(
                    null,
                    signed,
                    createPublicKey({ key: jwk as never, format: "jwk" }),
                    Buffer.from(signature, "base64")
                  )
                )
                .map(({ kid }) => kid)
            })
          )

        const before = yield* detailOf(ws, id)
        expect(before.publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/)
        expect(yield* keysOf(ws)).toEqual([asJwk(id, before.publicKey)])
        const first = yield* next(1)
        expect(first.schemes).toEqual(["v1", "v1a"])
        expect(yield* verifiedBy(first)).toEqual([id])

        const rotated = yield* ws.call("POST", `${path}/rotate-secret`)
        const after = yield* detailOf(ws, id)
        expect(after.publicKey).not.toBe(before.publicKey)
        expect(yield* keysOf(ws)).toEqual([
          asJwk(id, after.publicKey),
          asJwk(`${id}.previous`, before.publicKey)
        ])
        const second = yield* next(2)
        expect(second.schemes).toEqual(["v1", "v1a", "v1", "v1a"])
        expect(yield* verifiedBy(second)).toEqual([id, `${id}.previous`])
        for (const secrets of [after.publicKey, before.publicKey, rotated.body.signingSecret])
          expect(verify({ secrets: String(secrets), headers: second.headers, body: second.body }).id).toBe(
            second.headers["webhook-id"]
          )

        const sql = yield* SqlClient
        yield* sql`update posthorn.endpoints set previous_secret_expires_at = now() where id = ${id}`
        expect(yield* keysOf(ws)).toEqual([asJwk(id, after.publicKey)])
        const third = yield* next(3)
        expect([third.schemes, yield* verifiedBy(third)]).toEqual([["v1", "v1a"], [id]])

        yield* ws.call("PATCH", path, { body: { request: V1A } })
        const last = yield* next(4)
        expect([last.schemes, yield* verifiedBy(last)]).toEqual([["v1a"], [id]])
        const attempts = yield* Effect.repeat(
          ws.call("GET", `/webhooks/deliveries/${last.headers["webhook-id"]}/attempts`),
          { until: ({ body }) => body.items.length > 0 }
        ).pipe(Effect.timeout("10 seconds"))
        expect(attempts.body.items).toMatchObject([
          { requestHeaders: { "webhook-signature": last.entries[0] } }
        ])
      })
  )

  it.effect("§2.9 is made with the recipe, shown while it signs, and the same when the recipe returns", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws)
      const patch = (request: object | null) =>
        Effect.map(ws.call("PATCH", `/webhooks/${id}`, { body: { request } }), ({ body }) => body.publicKey)
      expect((yield* detailOf(ws, id)).publicKey).toBeNull()
      expect(yield* keysOf(ws)).toEqual([])

      const made = yield* patch(V1A)
      expect(made).toMatch(/^whpk_/)
      expect(yield* patch({ ...V1A, body: "payload" })).toBe(made)
      expect(yield* patch(null)).toBeNull()
      expect(yield* keysOf(ws)).toEqual([])
      expect(yield* patch(BOTH)).toBe(made)

      yield* patch({ body: "payload" })
      yield* ws.call("POST", `/webhooks/${id}/rotate-secret`)
      const renewed = yield* patch(V1A)
      expect(renewed).not.toBe(made)
      expect(yield* keysOf(ws)).toEqual([asJwk(id, renewed), asJwk(`${id}.previous`, made)])
    })
  )

  it.effect("§2.9 publishes the keys of one workspace by endpoint, to everybody, for five minutes", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      yield* makeEndpoint(other, { request: V1A })
      const ids = [
        yield* makeEndpoint(ws, { request: V1A }),
        yield* makeEndpoint(ws, { request: BOTH, enabled: false })
      ]
      yield* makeEndpoint(ws, { request: { body: "payload" } })

      const answer = yield* keySet(ws.slug)

      expect(answer.status).toBe(200)
      expect(answer.headers.get("content-type")).toBe("application/jwk-set+json")
      expect(answer.headers.get("cache-control")).toBe("public, max-age=300")
      expect(answer.body.keys.map(({ kid }) => kid)).toEqual(ids)
      const none = yield* keySet((yield* entered).slug)
      for (const slug of ["nobody", "No-Slug", "a".repeat(300)]) {
        const { headers, status, text } = yield* keySet(slug)
        expect([slug, status, text]).toEqual([slug, 200, none.text])
        expect([...headers.keys()]).toEqual([...none.headers.keys()])
      }
    })
  )

  it.effect("§2.9 keeps a set, also one without keys, until its workspace changes one", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      expect(yield* keysOf(ws)).toEqual([])
      const id = yield* makeEndpoint(ws, { request: V1A })
      const made = yield* keysOf(ws)
      expect(made).toHaveLength(1)
      yield* ws.call("POST", `/webhooks/${id}/rotate-secret`)
      expect((yield* keysOf(ws)).length).toBe(2)
      yield* ws.call("DELETE", `/webhooks/${id}`)
      expect(yield* keysOf(ws)).toEqual([])
    })
  )

  it.scoped("§2.9 asks once a second for changes, and counts who asks by address", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { call } = yield* anotherServer({
        keySetsMs: 60_000,
        quotas: { rest_read: { limit: 3, windowSeconds: 60 } }
      })
      const ask = Effect.map(
        call("GET", `/workspaces/${ws.slug}/.well-known/jwks.json`),
        ({ status, text }) => [status, text] as const
      )
      const [, first] = yield* ask
      yield* makeEndpoint(ws, { request: V1A })
      expect(yield* ask).toEqual([200, first])
      expect((yield* keysOf(ws)).length).toBe(1)
      yield* ask
      expect((yield* ask)[0]).toBe(429)
    })
  )

  it.effect("§2.9 never leaves the database unsealed, and its rotation is audited", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const id = yield* makeEndpoint(ws, { request: V1A })
      const rotated = yield* ws.call("POST", `/webhooks/${id}/rotate-secret`)
      const { body: audit } = yield* ws.call("GET", "/audit-events?limit=1")
      const detail = yield* detailOf(ws, id)
      const [row] = yield* sql`select e::text as row from posthorn.endpoints e where id = ${id}`

      expect(JSON.stringify([rotated.body, audit, detail, row])).not.toMatch(/whsk_|privateKey/)
      expect(audit.items[0]).toMatchObject({
        action: "webhook.secret_rotated",
        changes: { fields: ["signingSecret", "publicKey"] }
      })
    })
  )

  it.effect("§2.9 is not made while no key opens the endpoint's secret: a rotation comes first", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const id = yield* makeEndpoint(ws)
      yield* sql`update posthorn.endpoints set secret = '\\x00' where id = ${id}`
      const patch = ws.call("PATCH", `/webhooks/${id}`, { body: { request: V1A } })

      expect(yield* patch).toMatchObject({
        status: 400,
        body: { _tag: "InvalidRequest", issues: [{ path: "/request/signatures" }] }
      })
      yield* ws.call("POST", `/webhooks/${id}/rotate-secret`)
      expect(yield* patch).toMatchObject({
        status: 200,
        body: { publicKey: expect.stringMatching(/^whpk_/) }
      })
    })
  )
})
