import { assert, layer } from "@effect/vitest"
import type { AuthenticationProfile } from "@posthorn/domain/RequestSecrets"
import { certificate } from "@posthorn/testkit/Certificates"
import { type Behaviour, make as makeReceiver, type Received } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import {
  attempts,
  deliveries,
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
} from "../Setting.ts"

const HIDDEN = { secret: true, fingerprint: "0123456789abcdef" } as const

const authenticated = (
  acme: Workspace,
  url: string,
  authentication: AuthenticationProfile,
  secret: string,
  type?: string
) =>
  Effect.gen(function* () {
    const { id } = yield* endpoint(acme, url, type)
    yield* setRequest(acme, id, { authentication }, { authentication: secret })
    return id
  })

const oauth = (acme: Workspace, url: string, tokenUrl: string, type?: string) =>
  authenticated(acme, url, { kind: "oauth2", tokenUrl, clientId: "me", ...HIDDEN }, "geheim", type)

/** Gives the-token-1, the-token-2, … */
const counting =
  (lives = 60): Behaviour =>
  (answer) =>
    void answer.reply(
      200,
      JSON.stringify({ access_token: `the-token-${answer.nth}`, token_type: "Bearer", expires_in: lives })
    )

const tokenOf = ({ headers }: Received) =>
  headers.find(([name]) => name.toLowerCase() === "authorization")?.[1]

/** Takes deliveries with one of these tokens. */
const wanting =
  (...tokens: ReadonlyArray<string>): Behaviour =>
  (answer) => {
    const token = tokenOf(answer.request as Received)?.replace("Bearer ", "")
    answer.reply(tokens.includes(token ?? "") ? 200 : 401)
  }

const outcomes = (acme: Workspace) =>
  Effect.map(attempts(acme), (all) =>
    all.map(({ failure_reason, http_status, status }) => [status, failure_reason, http_status])
  )

const many = <A>(count: number, one: A): Array<A> => Array.from({ length: count }, () => one)

const DELIVERED = ["delivered", null, 200]
const AUTH_FAILED = ["failed", "auth_failed", null]

layer(Setting, { excludeTestServices: true })("an endpoint that wants a token", (it) => {
  it.scoped("§2.9 gets one token for all its deliveries, which the evidence does not hold", () =>
    Effect.gen(function* () {
      const auth = yield* makeReceiver({ behaviours: { "/token": counting() } })
      const receiver = yield* makeReceiver({
        behaviours: { "/hook": (answer) => void answer.reply(200, tokenOf(answer.request as Received)) }
      })
      const acme = yield* workspace
      yield* oauth(acme, receiver.url("/hook"), auth.url("/token"))
      yield* publish(acme, 40)
      yield* worker()
      yield* drained(acme)

      assert.deepStrictEqual(yield* outcomes(acme), many(40, DELIVERED))
      assert.strictEqual(auth.received.length, 1)
      const [made] = yield* attempts(acme)
      assert.strictEqual(JSON.parse(made!.request_headers).authorization, `sealed:${HIDDEN.fingerprint}`)
      // The receiver repeats it.
      assert.strictEqual(made!.response_body, `Bearer sealed:${HIDDEN.fingerprint}`)
      assert.notInclude(JSON.stringify(yield* attempts(acme)), "the-token-1")
    })
  )

  it.scoped("§2.9 that refuses a token gets another one, once, within the same attempt", () =>
    Effect.gen(function* () {
      const auth = yield* makeReceiver({ behaviours: { "/token": counting() } })
      const receiver = yield* makeReceiver({
        behaviours: { "/hook": wanting("the-token-2"), "/never": wanting() }
      })
      const [acme, other] = [yield* workspace, yield* workspace]
      yield* oauth(acme, receiver.url("/hook"), auth.url("/token"))
      yield* publish(acme, 20)
      yield* worker()
      yield* drained(acme)
      assert.deepStrictEqual(yield* outcomes(acme), many(20, DELIVERED))
      assert.strictEqual(auth.received.length, 2)

      const id = yield* oauth(other, receiver.url("/never"), auth.url("/token"))
      yield* publish(other)
      yield* drained(other)
      assert.deepStrictEqual(yield* outcomes(other), [["failed_permanent", "http_status", 401]])
      assert.deepStrictEqual(receiver.receivedAt("/never").map(tokenOf), [
        "Bearer the-token-3",
        "Bearer the-token-4"
      ])
      assert.strictEqual((yield* endpointRow(id)).consecutive_failures, 1)
    })
  )

  it.scoped("§2.9 outlives tokens that live for a second", () =>
    Effect.gen(function* () {
      const auth = yield* makeReceiver({ behaviours: { "/token": counting(1) } })
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* oauth(acme, receiver.url("/ok"), auth.url("/token"))
      yield* worker()
      for (let n = 0; n < 5; n++) {
        yield* publish(acme, 5)
        yield* drained(acme)
        // biome-ignore lint/plugin: half of the time for which a token lives
        yield* Effect.sleep("600 millis")
      }
      assert.deepStrictEqual(yield* outcomes(acme), many(25, DELIVERED))
      assert.isAtLeast(auth.received.length, 3)
    })
  )

  it.scoped(
    "§2.9 keeps its streak when there is no token, is never connected to, and recovers when there is one",
    () =>
      Effect.gen(function* () {
        let works = false
        const auth = yield* makeReceiver({
          behaviours: {
            "/token": (answer) =>
              void (works ? counting()(answer) : answer.reply(401, '{"error":"invalid_client"}'))
          }
        })
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        const id = yield* oauth(acme, receiver.url("/ok"), auth.url("/token"))
        yield* publish(acme, 3)
        yield* worker()
        yield* until(deliveries(acme), (all) => all.every(({ status }) => status === "dead_lettered"))

        assert.deepStrictEqual(yield* outcomes(acme), many(3 * 7, AUTH_FAILED))
        for (const { request_headers } of yield* attempts(acme)) assert.strictEqual(request_headers, "{}")
        assert.deepInclude(yield* endpointRow(id), { enabled: true, consecutive_failures: 0 })
        assert.strictEqual(receiver.connections.opened, 0)
        works = true
        yield* publish(acme, 1)
        yield* until(deliveries(acme), (all) => all.some(({ status }) => status === "delivered"))
      })
  )

  it.scoped("§2.9 holds no slot and slows nobody down while its token endpoint hangs", () =>
    Effect.gen(function* () {
      const auth = yield* makeReceiver({ behaviours: { "/token": () => undefined } })
      const receiver = yield* makeReceiver()
      const [acme, neighbour] = [yield* workspace, yield* workspace]
      const hanging = 20
      const ids: Array<string> = []
      for (let n = 0; n < hanging; n++)
        ids.push(yield* oauth(acme, receiver.url("/never"), auth.url("/token"), `hangs.t${n}`))
      yield* endpoint(acme, receiver.url("/ok"), "works")
      yield* endpoint(neighbour, receiver.url("/ok"), "works")
      for (let n = 0; n < hanging; n++) yield* publish(acme, 20, `hangs.t${n}`)
      // Fewer slots than endpoints that wait for a token.
      yield* worker({ batchSize: 4, maxConcurrency: 1, requestTimeoutMs: 8_000 })
      yield* auth.waitFor(hanging)
      yield* publish(acme, 50, "works")
      yield* publish(neighbour, 50, "works")
      yield* receiver.waitFor(100, "/ok")

      assert.strictEqual(auth.received.length, hanging)
      assert.isEmpty(receiver.receivedAt("/never"))
      const failed = (yield* attempts(acme)).filter(({ status }) => status !== "delivered")
      assert.isEmpty(failed)
      for (const id of ids) assert.strictEqual((yield* endpointRow(id)).consecutive_failures, 0)
    })
  )

  it.scoped("§2.9 fails its authentication when its token endpoint may not be asked", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* oauth(acme, receiver.url("/ok"), "https://10.0.0.1/token")
      yield* publish(acme)
      yield* worker()
      yield* until(attempts(acme), (all) => all.length > 0)
      assert.deepStrictEqual((yield* outcomes(acme))[0], AUTH_FAILED)
    })
  )
})

layer(Setting, { excludeTestServices: true })("an endpoint that wants a client certificate", (it) => {
  it.scoped(
    "§2.9 fails its authentication once that has expired, is never connected to, and keeps its streak",
    () =>
      Effect.gen(function* () {
        const receiver = yield* makeReceiver({ tls: "valid" })
        const acme = yield* workspace
        const { cert, key } = certificate("expired")
        const id = yield* authenticated(
          acme,
          receiver.url("/ok"),
          { kind: "mtls", certificate: cert, ...HIDDEN },
          key
        )
        yield* publish(acme)
        yield* worker()
        yield* until(deliveries(acme), (all) => all.every(({ status }) => status === "dead_lettered"))

        assert.deepStrictEqual(yield* outcomes(acme), many(7, AUTH_FAILED))
        assert.strictEqual((yield* endpointRow(id)).consecutive_failures, 0)
        assert.strictEqual(receiver.connections.opened, 0)
      })
  )
})
