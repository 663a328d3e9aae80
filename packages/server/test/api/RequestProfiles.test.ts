/** Request profiles of an endpoint: what is accepted and shown, which secrets are kept, and that no answer contains one. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint } from "../Fixtures.ts"
import { entered, testServer } from "../TestServer.ts"

const SECRETS = ["geheim-header", "geheim-password", "geheim-other"]

const PROFILE = {
  headers: [
    { name: "X-Region", value: "eu-1" },
    { name: "X-Api-Key", value: "geheim-header", secret: true }
  ],
  authentication: { kind: "basic", username: "me", password: "geheim-password" },
  body: "payload",
  signatures: [{ scheme: "standard_v1" }]
}

const FINGERPRINT = expect.stringMatching(/^[0-9a-f]{16}$/)

const SHOWN = {
  ...PROFILE,
  headers: [PROFILE.headers[0], { name: "X-Api-Key", secret: true, fingerprint: FINGERPRINT }],
  authentication: { kind: "basic", username: "me", secret: true, fingerprint: FINGERPRINT }
}

interface Shown {
  readonly url: string
  readonly request: {
    readonly headers: ReadonlyArray<{ readonly fingerprint?: string }>
    readonly authentication: object
  }
  readonly issues: ReadonlyArray<{ readonly path: string; readonly message: string }>
  readonly items: ReadonlyArray<{ readonly request: unknown; readonly changes: unknown }>
}

layer(testServer(), { excludeTestServices: true })("request profiles", (it) => {
  it.effect("§2.9 shows fingerprints instead of secrets, and accepts them when they are sent back", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { request: PROFILE })
      const patch = (body: object) => ws.call<Shown>("PATCH", `/webhooks/${id}`, { body })
      const first = yield* ws.call<Shown>("GET", `/webhooks/${id}`)
      const listed = yield* ws.call<Shown>("GET", "/webhooks")
      const same = yield* patch({ request: first.body.request })
      const again = yield* patch({ request: PROFILE })
      const other = yield* patch({
        request: { headers: [{ name: "x-api-key", value: "geheim-other", secret: true }] }
      })
      const none = yield* patch({ request: null })

      expect(first.body.request).toEqual(SHOWN)
      expect(listed.body.items.map(({ request }) => request)).toEqual([first.body.request])
      for (const { body, headers } of [same, again]) {
        expect(body.request).toEqual(first.body.request)
        expect(headers.get("etag")).toBe(first.headers.get("etag"))
      }
      const [before, now] = [first.body.request.headers[1]!, other.body.request.headers[0]!]
      expect(now.fingerprint).not.toBe(before.fingerprint)
      expect(other.headers.get("etag")).not.toBe(first.headers.get("etag"))
      expect(none.body.request).toBe(null)
      const { body: log } = yield* ws.call<Shown>("GET", "/audit-events?action=webhook.endpoint_updated")
      expect(log.items.map(({ changes }) => changes)).toEqual([
        { fields: ["request"], from: { request: other.body.request }, to: { request: null } },
        { fields: ["request"], from: { request: first.body.request }, to: { request: other.body.request } }
      ])
    })
  )

  it.effect("§2.9 keeps a secret that is left out, and requires one that is not stored", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { request: PROFILE })
      const { request } = (yield* ws.call<Shown>("GET", `/webhooks/${id}`)).body
      const patch = (sent: object) => ws.call<Shown>("PATCH", `/webhooks/${id}`, { body: { request: sent } })
      const kept = yield* patch({
        headers: [{ name: "x-api-key" }, { name: "X-Region", value: "us-1" }],
        authentication: { kind: "basic", username: "you" }
      })
      const missing = yield* patch({
        headers: [{ name: "x-new", secret: true }, { name: "x-region" }, { name: "x-api-key", secret: true }],
        authentication: { kind: "bearer" }
      })
      const plain = yield* patch({ headers: [{ name: "x-api-key", value: "plain" }] })
      const lost = yield* patch({ headers: [{ name: "x-api-key", secret: true }] })

      expect(kept.body.request).toEqual({
        headers: [
          { ...request.headers[1], name: "x-api-key" },
          { name: "X-Region", value: "us-1" }
        ],
        authentication: { ...request.authentication, username: "you" }
      })
      expect(missing.status).toBe(400)
      const message = "Expected 1 to 2,048 visible ASCII characters and spaces"
      expect(missing.body.issues).toEqual([
        { path: "/request/headers/0/value", message },
        { path: "/request/headers/1/value", message },
        { path: "/request/authentication/token", message }
      ])
      expect(plain.body.request).toEqual({ headers: [{ name: "x-api-key", value: "plain" }] })
      expect(lost.body.issues).toEqual([{ path: "/request/headers/0/value", message }])
    })
  )

  it.effect("§2.9 sends a stored secret to no other origin or path unless it is given again", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { request: PROFILE })
      const patch = (body: object) => ws.call<Shown>("PATCH", `/webhooks/${id}`, { body })
      const path = yield* patch({ url: "https://example.com/other" })
      const stolen = yield* patch({ url: "https://example.org/hooks" })
      const named = yield* patch({
        url: "https://example.org/hooks",
        request: { headers: [{ name: "X-Api-Key", secret: true }] }
      })
      const port = yield* patch({ url: "https://example.com:8443/hooks" })
      const without = yield* patch({ url: "https://example.org/hooks", request: { body: "payload" } })

      const message =
        "The URL's origin or path changes: send this secret again, or leave it out of the request"
      for (const refused of [path, stolen, port]) {
        expect(refused.status).toBe(400)
        expect(refused.body.issues).toEqual([
          { path: "/request/headers/1/value", message },
          { path: "/request/authentication/password", message }
        ])
      }
      expect(named.body.issues).toEqual([{ path: "/request/headers/0/value", message }])
      expect(without.body).toMatchObject({ url: "https://example.org/hooks", request: { body: "payload" } })
      const sql = yield* SqlClient
      expect(yield* sql`select request_secrets from posthorn.endpoints where id = ${id}`).toEqual([
        { request_secrets: null }
      ])
    })
  )

  it.effect("§2.9 refuses what no request can have, with all faults", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const answer = yield* ws.call<Shown>("POST", "/webhooks", {
        body: {
          url: "https://example.com/hooks",
          eventTypes: ["*"],
          request: {
            headers: [{ name: "Host", value: "x" }],
            authentication: { kind: "digest" },
            body: "xml",
            signatures: [{ scheme: "hmac", header: "x-a", content: "{id}" }],
            cookies: []
          }
        }
      })

      expect(answer.status).toBe(400)
      const paths = answer.body.issues.map(({ path }) => path)
      for (const path of ["headers/0/name", "body", "signatures/0", "cookies"])
        expect(paths.some((one) => one.startsWith(`/request/${path}`))).toBe(true)
      expect(paths.some((one) => one.startsWith("/request/authentication"))).toBe(true)
      expect(paths).not.toContain("/request")
    })
  )

  it.effect("§2.9 leaves no secret in any table, in any spelling", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const id = yield* makeEndpoint(ws, { request: PROFILE })
      yield* ws.call<Shown>("POST", "/webhooks", {
        headers: { "idempotency-key": "with-secrets" },
        body: { url: "https://example.com/hooks", eventTypes: ["*"], request: PROFILE }
      })
      yield* ws.call<Shown>("PATCH", `/webhooks/${id}`, {
        body: { request: { authentication: { kind: "bearer", token: "geheim-other" } } }
      })

      const tables = yield* sql<{ name: string }>`select table_name as name from information_schema.tables
        where table_schema = 'posthorn' and table_type = 'BASE TABLE'`
      expect(tables.length).toBeGreaterThan(10)
      for (const { name } of tables)
        for (const secret of SECRETS) {
          const bytes = Buffer.from(secret)
          for (const spelling of [secret, bytes.toString("base64"), bytes.toString("hex")])
            expect(
              yield* sql`select from posthorn.${sql(name)} r where strpos(r::text, ${spelling}) > 0`,
              `${spelling} in ${name}`
            ).toEqual([])
        }
    })
  )
})
