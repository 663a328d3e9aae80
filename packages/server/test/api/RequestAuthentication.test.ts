/** Endpoints that authenticate Posthorn by tokens or certificates: what is taken, shown and refused. */
import { expect, layer } from "@effect/vitest"
import { certificate } from "@posthorn/testkit/Certificates"
import { Effect } from "effect"
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

        expect([path.status, sent.status]).toEqual([200, 200])
        const message = expect.stringContaining("The origin changes")
        for (const { body, status } of [origin, moved]) {
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
