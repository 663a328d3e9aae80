/** Tokens from real token endpoints, good ones and hostile ones. */
import { describe, expect, it } from "@effect/vitest"
import { type Behaviour, make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Either, Redacted } from "effect"
import {
  ANSWER_LIMIT_BYTES,
  type ClientCredentials,
  requestToken,
  type TokenAnswer
} from "../src/ClientCredentials.ts"
import { type DispatchOptions, open } from "../src/Dispatch.ts"
import { type Asked, Tokens, versionOf } from "../src/Tokens.ts"

const SECRET = "geheim & more"
const credentials = (tokenUrl: string, more: Partial<ClientCredentials> = {}): ClientCredentials => ({
  tokenUrl,
  clientId: "me:and+you",
  clientSecret: Redacted.make(SECRET),
  ...more
})

const dispatcher = (options: Partial<DispatchOptions> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      open({
        userAgent: "Posthorn/0.0.0-test",
        refuses: () => false,
        requestTimeoutMs: 6_000,
        bodyTimeoutMs: 2_000,
        bodyLimitBytes: ANSWER_LIMIT_BYTES,
        ...options
      })
    ),
    ({ close }) => Effect.sync(close)
  )

const ask = (asked: ClientCredentials, options: Partial<DispatchOptions> = {}) =>
  Effect.scoped(
    Effect.flatMap(dispatcher(options), ({ send }) =>
      Effect.async<TokenAnswer>((resume) => {
        const giveUp = requestToken(send)("wsp_1", asked, (answer) => resume(Effect.succeed(answer!)))
        return Effect.sync(giveUp)
      })
    )
  )

const answers =
  (status: number, body: unknown): Behaviour =>
  (answer) =>
    void answer.reply(status, typeof body === "string" ? body : JSON.stringify(body))

/** A token endpoint that behaves like this at `/token`. */
const endpoint = (behaviour: Behaviour) => makeReceiver({ behaviours: { "/token": behaviour } })

const token = (access_token: string, more: object = {}) =>
  answers(200, { access_token, token_type: "Bearer", expires_in: 60, ...more })

describe("a token endpoint", () => {
  it.scopedLive("§2.9 is asked by form, with the credentials in the header or in the body", () =>
    Effect.gen(function* () {
      const { received, url } = yield* endpoint(token("abc"))
      const first = yield* ask(credentials(url("/token"), { scope: "a b", audience: "https://api" }))
      yield* ask(credentials(url("/token"), { sendCredentialsIn: "body" }))

      expect(Either.map(first, ({ livesSeconds, value }) => [Redacted.value(value), livesSeconds])).toEqual(
        Either.right(["abc", 60])
      )
      const [header, body] = received.map(({ body: sent, headers, method }) => ({
        method,
        form: Object.fromEntries(new URLSearchParams(sent.toString())),
        ...Object.fromEntries(headers.filter(([name]) => /^(authorization|content-type)$/.test(name)))
      }))
      expect(header).toEqual({
        method: "POST",
        form: { grant_type: "client_credentials", scope: "a b", audience: "https://api" },
        "content-type": "application/x-www-form-urlencoded",
        authorization: `Basic ${btoa("me%3Aand%2Byou:geheim+%26+more")}`
      })
      expect(body).toEqual({
        method: "POST",
        form: { grant_type: "client_credentials", client_id: "me:and+you", client_secret: SECRET },
        "content-type": "application/x-www-form-urlencoded"
      })
    })
  )

  it.scopedLive("§2.9 may leave out how long the token lives, and what kind it is", () =>
    Effect.gen(function* () {
      for (const [more, lives] of [
        [{ expires_in: undefined, token_type: undefined }, 3_600],
        [{ expires_in: "90", token_type: "bearer" }, 90]
      ] as const) {
        const { url } = yield* endpoint(token("abc", more))
        expect(
          Either.map(yield* ask(credentials(url("/token"))), ({ livesSeconds }) => livesSeconds)
        ).toEqual(Either.right(lives))
      }
    })
  )

  const BAD: ReadonlyArray<readonly [string, Behaviour, string]> = [
    [
      "refuses",
      answers(401, { error: "invalid_client", error_description: SECRET }),
      "answered 401 (invalid_client)."
    ],
    [
      "repeats the secret as its code",
      answers(400, { error: Buffer.from(SECRET).toString("hex") }),
      "answered 400 (sealed)."
    ],
    ["says more than a code", answers(400, { error: `<b>${SECRET}</b>` }), "answered 400."],
    ["breaks", answers(503, "down"), "answered 503."],
    [
      "redirects inward",
      (answer) => void answer.reply(307, "", { location: "http://127.0.0.1:1/token" }),
      "answered 307."
    ],
    ["answers HTML", answers(200, "<html>Sign in</html>"), "without a bearer token"],
    ["answers no object", answers(200, "7"), "without a bearer token"],
    ["gives another kind of token", token("abc", { token_type: "mac" }), "without a bearer token"],
    ["gives a token that is no header", token("a\r\nb"), "without a bearer token"],
    ["gives a token that is dead", token("abc", { expires_in: 0 }), "without a bearer token"],
    ["gives no token", answers(200, { token_type: "bearer" }), "without a bearer token"],
    [
      "answers 10 MB",
      (answer) =>
        void answer
          .raw("HTTP/1.1 200 OK\r\ncontent-length: 10485760\r\n\r\n")
          .flood(`{"a":"${"x".repeat(65_536)}`),
      "without a bearer token"
    ],
    ["hangs up", (answer) => answer.reset(), "could not be asked (connection_failed)."],
    ["is silent", () => undefined, "could not be asked (request_timeout)."]
  ]
  for (const [what, behaviour, said] of BAD)
    it.scopedLive(`§2.9 that ${what} gives no token, and is not quoted`, () =>
      Effect.gen(function* () {
        const { url } = yield* endpoint(behaviour)
        const options = what === "is silent" ? { requestTimeoutMs: 300 } : {}
        const why = Either.getOrThrow(Either.flip(yield* ask(credentials(url("/token")), options)))
        expect(why).toContain(said)
        for (const secret of ["geheim", "html", "127.0.0.1"]) expect(why).not.toContain(secret)
      })
    )

  it.scopedLive("§2.8 is not connected to at a refused address", () =>
    Effect.gen(function* () {
      const { connections, url } = yield* endpoint(token("abc"))
      const refuses = () => true
      expect(yield* ask(credentials(url("/token")), { refuses })).toEqual(
        Either.left("The token endpoint could not be asked (connection_failed).")
      )
      expect(yield* ask(credentials(url("/token", "localhost")), { refuses })).toEqual(
        Either.left("The token endpoint could not be asked (dns_failed).")
      )
      expect(connections.opened).toBe(0)
    })
  )
})

const OWNER = { workspaceId: "wsp_1", endpointId: "whe_1" }

/** Tokens whose requests are answered by hand, by a clock that stands still. */
const byHand = () => {
  const asked: Array<{
    readonly answer: (answer: TokenAnswer) => void
    givenUp: boolean
    readonly clientId: string
  }> = []
  const settled: Array<string> = []
  const clock = { now: 0 }
  const tokens = new Tokens({
    now: () => clock.now,
    settled: (endpointId) => void settled.push(endpointId),
    request: (_, { clientId }, answer) => {
      const one = { answer, givenUp: false, clientId }
      asked.push(one)
      return () => {
        one.givenUp = true
      }
    }
  })
  return { asked, clock, settled, tokens }
}

const wantedOf = (clientId: string) => {
  const made = credentials("https://auth.example/token", { clientId })
  return { credentials: made, version: versionOf(made) }
}
const WANTED = wantedOf("me")
const WAITING: Asked = { kind: "waiting" }

const given = (value: string, livesSeconds = 100): TokenAnswer =>
  Either.right({ value: Redacted.make(value), livesSeconds })
const shown = (asked: Asked) => (asked.kind === "token" ? Redacted.value(asked.token) : asked)

describe("the tokens of endpoints", () => {
  it("§2.9 are fetched once for all who wait, and again at three quarters of their life, while they are used", () => {
    const { asked, clock, settled, tokens } = byHand()
    expect([tokens.ask(OWNER, WANTED), tokens.ask(OWNER, WANTED)]).toEqual([WAITING, WAITING])
    expect(asked).toHaveLength(1)
    asked[0]!.answer(given("one"))
    expect(settled).toEqual(["whe_1"])

    clock.now = 74_999
    expect(shown(tokens.ask(OWNER, WANTED))).toBe("one")
    expect(asked).toHaveLength(1)
    clock.now = 75_000
    expect([shown(tokens.ask(OWNER, WANTED)), shown(tokens.ask(OWNER, WANTED))]).toEqual(["one", "one"])
    expect(asked).toHaveLength(2)
    asked[1]!.answer(Either.left("away"))
    expect(shown(tokens.ask(OWNER, WANTED))).toBe("one")
    expect(asked).toHaveLength(2)
    clock.now = 76_000
    tokens.ask(OWNER, WANTED)
    asked[2]!.answer(given("two"))
    expect(shown(tokens.ask(OWNER, WANTED))).toBe("two")
    clock.now = 176_000
    expect(tokens.ask(OWNER, WANTED)).toEqual(WAITING)
  })

  it("§2.9 are fetched anew when one is refused, unless it was replaced meanwhile", () => {
    const { asked, tokens } = byHand()
    const current = () => {
      const answer = tokens.ask(OWNER, WANTED)
      return answer.kind === "token" ? answer.token : expect.unreachable()
    }
    tokens.ask(OWNER, WANTED)
    asked[0]!.answer(given("one"))
    const one = current()
    tokens.refused(OWNER, WANTED, one)
    expect(tokens.ask(OWNER, WANTED)).toEqual(WAITING)
    asked[1]!.answer(given("two"))
    tokens.refused(OWNER, WANTED, one)
    tokens.refused(OWNER, wantedOf("before"), current())
    expect(shown(tokens.ask(OWNER, WANTED))).toBe("two")
    expect(asked).toHaveLength(2)
  })

  it("§2.9 are not asked for again at once after a failure", () => {
    const { asked, clock, settled, tokens } = byHand()
    tokens.ask(OWNER, WANTED)
    asked[0]!.answer(Either.left("away"))
    expect(settled).toEqual(["whe_1"])
    clock.now = 999
    expect(tokens.ask(OWNER, WANTED)).toEqual({ kind: "failed", why: "away" })
    clock.now = 1_000
    expect(tokens.ask(OWNER, WANTED)).toEqual(WAITING)
    expect(asked).toHaveLength(2)
  })

  it("§2.9 belong to the credentials they were fetched with", () => {
    const { asked, settled, tokens } = byHand()
    const other = wantedOf("you")
    tokens.ask(OWNER, WANTED)
    expect(tokens.ask(OWNER, other)).toEqual(WAITING)
    expect(asked.map(({ clientId, givenUp }) => [clientId, givenUp])).toEqual([
      ["me", true],
      ["you", false]
    ])
    asked[1]!.answer(given("yours"))
    expect(settled).toEqual(["whe_1"])
    expect(shown(tokens.ask(OWNER, other))).toBe("yours")
    expect(tokens.ask(OWNER, WANTED)).toEqual(WAITING)
    expect(WANTED.version).not.toContain("geheim")
  })

  it("§2.9 take at most 64 requests of a workspace at once, and none of another's", () => {
    const { asked, tokens } = byHand()
    const owner = (n: number, workspaceId = "wsp_1") => ({
      workspaceId,
      endpointId: `whe_${workspaceId}_${n}`
    })
    for (let n = 0; n < 70; n++) expect(tokens.ask(owner(n), WANTED)).toEqual(WAITING)
    tokens.ask(owner(0, "wsp_2"), WANTED)
    expect(asked).toHaveLength(65)
    asked[0]!.answer(given("one"))
    asked[1]!.answer(Either.left("away"))
    expect(asked).toHaveLength(67)
    tokens.ask(owner(69), wantedOf("changed"))
    for (const one of asked.slice(2)) one.answer(given("one"))
    for (const one of asked.slice(67)) one.answer(given("one"))
    expect(asked).toHaveLength(71)
    expect(shown(tokens.ask(owner(69), wantedOf("changed")))).toBe("one")
  })
})
