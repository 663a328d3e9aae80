/** Endpoints that authenticate Posthorn by tokens or certificates: what is taken, shown and refused. */
import { expect, layer } from "@effect/vitest"
import { parseAllowedTargets } from "@posthorn/domain/AllowedTargets"
import { certificate } from "@posthorn/testkit/Certificates"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Either } from "effect"
import { makeEndpoint } from "../Fixtures.ts"
import { entered, testServer } from "../TestServer.ts"

interface Shown {
  readonly request: unknown
  readonly issues: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

const OAUTH = {
  kind: "oauth2",
  tokenUrl: "https://auth.example.com/token",
  clientId: "me",
  clientSecret: "geheim-client",
  scope: "a b"
}
const { cert, key } = certificate("valid")
const MTLS = { kind: "mtls", certificate: cert, privateKey: key }

const FINGERPRINT = expect.stringMatching(/^[0-9a-f]{16}$/)

layer(testServer(), { excludeTestServices: true })("authentication", (it) => {
  it.effect("§2.9 by token or certificate is shown without its secret, and kept by what is shown", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      for (const authentication of [OAUTH, MTLS]) {
        const {
          clientSecret: _,
          privateKey: __,
          ...rest
        } = { clientSecret: "", privateKey: "", ...authentication }
        const id = yield* makeEndpoint(ws, { request: { authentication } })
        const first = yield* ws.call<Shown>("GET", `/webhooks/${id}`)
        const same = yield* ws.call<Shown>("PATCH", `/webhooks/${id}`, {
          body: { request: first.body.request }
        })

        expect(first.body.request).toEqual({
          authentication: { ...rest, secret: true, fingerprint: FINGERPRINT }
        })
        expect(same.body.request).toEqual(first.body.request)
        for (const secret of ["geheim", key.slice(40, 80)])
          expect(JSON.stringify(first.body)).not.toContain(secret)
      }
    })
  )

  it.effect(
    "§2.9 §2.8 asks no token endpoint that no endpoint may have, and no other one with a kept secret",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const id = yield* makeEndpoint(ws, { request: { authentication: OAUTH } })
        const patch = (authentication: object) =>
          ws.call<Shown>("PATCH", `/webhooks/${id}`, { body: { request: { authentication } } })
        const { clientSecret, ...kept } = OAUTH
        for (const tokenUrl of [
          "http://auth.example.com/",
          "https://10.0.0.1/",
          "https://user@auth.example.com/",
          "auth"
        ]) {
          const refused = yield* patch({ ...OAUTH, tokenUrl })
          expect(refused.status).toBe(400)
          expect(refused.body.issues).toEqual([
            {
              path: "/request/authentication/tokenUrl",
              message: expect.stringMatching(/^This URL is refused: /)
            }
          ])
        }
        const path = yield* patch({ ...kept, tokenUrl: "https://auth.example.com/other" })
        const origin = yield* patch({ ...kept, tokenUrl: "https://auth.example.org/token" })
        const sent = yield* patch({ ...kept, clientSecret, tokenUrl: "https://auth.example.org/token" })
        const moved = yield* ws.call<Shown>("PATCH", `/webhooks/${id}`, {
          body: { url: "https://elsewhere.example.com/" }
        })

        expect(sent.status).toBe(200)
        const message = expect.stringContaining("The URL's origin or path changes")
        for (const { body, status } of [path, origin, moved]) {
          expect(status).toBe(400)
          expect(body.issues).toEqual([{ path: "/request/authentication/clientSecret", message }])
        }
      })
  )

  it.effect("§2.9 refuses a certificate without its key, and takes one that has expired", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const other = certificate("other-name")
      const expired = certificate("expired")
      const set = (authentication: object) =>
        ws.call<Shown>("POST", "/webhooks", {
          body: { url: "https://example.com/hooks", eventTypes: ["*"], request: { authentication } }
        })
      const pair = yield* set({ ...MTLS, privateKey: other.key })
      const noCertificate = yield* set({ ...MTLS, certificate: key })
      const noKey = yield* set({ ...MTLS, privateKey: cert })
      const none = yield* set({ kind: "mtls", certificate: cert })
      const old = yield* set({ kind: "mtls", certificate: expired.cert, privateKey: expired.key })

      expect(
        [pair, noCertificate, noKey, none].map(({ body }) => body.issues.map(({ path }) => path))
      ).toEqual([
        ["/request/authentication/privateKey"],
        ["/request/authentication/certificate"],
        ["/request/authentication/privateKey"],
        ["/request/authentication/privateKey"]
      ])
      expect(old.status).toBe(201)

      const id = yield* makeEndpoint(ws, { request: { authentication: MTLS } })
      const replaced = yield* ws.call<Shown>("PATCH", `/webhooks/${id}`, {
        body: { request: { authentication: { kind: "mtls", certificate: other.cert } } }
      })
      expect(replaced.body.issues).toEqual([
        { path: "/request/authentication/privateKey", message: expect.stringContaining("does not belong") }
      ])
    })
  )
})

const allowedTargets = Either.getOrThrow(parseAllowedTargets("127.0.0.1", true))

layer(testServer({ allowedTargets }), { excludeTestServices: true })("checking an authentication", (it) => {
  const check = (authentication: object | undefined) =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, {
        request: { ...(authentication !== undefined && { authentication }) }
      })
      return yield* ws.call("POST", `/webhooks/${id}/check-authentication`)
    })

  it.scoped("§2.9 fetches a token, and tells when it ends and nothing else of it", () =>
    Effect.gen(function* () {
      let answer: readonly [number, string] = [
        200,
        JSON.stringify({ access_token: "geheim-token", expires_in: 600 })
      ]
      const auth = yield* makeReceiver({ behaviours: { "/token": (raw) => void raw.reply(...answer) } })
      const oauth = { ...OAUTH, tokenUrl: auth.url("/token") }
      const before = Date.now()
      const good = yield* check(oauth)
      answer = [403, JSON.stringify({ error: "unauthorized_client", error_description: "geheim-answer" })]
      const refused = yield* check(oauth)
      answer = [200, "geheim-answer"]
      const nonsense = yield* check(oauth)
      const away = yield* check({ ...oauth, tokenUrl: "http://127.0.0.1:1/token" })

      expect(good.status).toBe(200)
      expect(good.body).toEqual({ ok: true, kind: "oauth2", reason: null, expiresAt: expect.any(String) })
      const lives = Date.parse(good.body.expiresAt as string) - before
      expect(lives).toBeGreaterThan(599_000)
      expect(lives).toBeLessThan(660_000)
      const wrong = (reason: string) => ({ ok: false, kind: "oauth2", reason, expiresAt: null })
      expect(refused.body).toEqual(wrong("The token endpoint answered 403 (unauthorized_client)."))
      expect(nonsense.body).toEqual(
        wrong("The token endpoint answered 200, but without a bearer token that can be used.")
      )
      expect(away.body).toEqual(wrong("The token endpoint could not be asked (connection_failed)."))
      for (const { text } of [good, refused, nonsense]) expect(text).not.toContain("geheim")
    })
  )

  it.effect("§2.9 looks at a certificate, and tries nothing else", () =>
    Effect.gen(function* () {
      const expired = certificate("expired")
      const good = yield* check(MTLS)
      const old = yield* check({ kind: "mtls", certificate: expired.cert, privateKey: expired.key })
      const others = [
        yield* check(undefined),
        yield* check({ kind: "basic", username: "me", password: "geheim" }),
        yield* check({ kind: "bearer", token: "geheim" })
      ]

      expect(good.body).toEqual({
        ok: true,
        kind: "mtls",
        reason: null,
        expiresAt: "2120-01-01T00:00:00.000Z"
      })
      expect(old.body).toEqual({
        ok: false,
        kind: "mtls",
        reason: "The certificate expired at 2020-01-02T00:00:00.000Z.",
        expiresAt: "2020-01-02T00:00:00.000Z"
      })
      expect(others.map(({ body }) => body)).toEqual(
        [null, "basic", "bearer"].map((kind) => ({ ok: true, kind, reason: null, expiresAt: null }))
      )
    })
  )

  it.effect("§4.6 is what a diagnosis of a failing one offers; one that ends soon is told of", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const expired = certificate("expired")
      const mtls = { kind: "mtls", certificate: expired.cert, privateKey: expired.key }
      const id = yield* makeEndpoint(ws, { request: { authentication: mtls } })
      const { body } = yield* ws.call<{ readonly findings: ReadonlyArray<{ readonly code: string }> }>(
        "GET",
        `/webhooks/${id}/diagnosis`
      )
      expect(body.findings.map(({ code }) => code)).toContain("certificate_expiring")
    })
  )
})
