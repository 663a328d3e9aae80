import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { sendRaw } from "../RawHttp.ts"
import { type CallOptions, type Entered, TestServer, testServer } from "../TestServer.ts"

const MIB = 1_048_576

const problem = (_tag: string, status: number) =>
  expect.objectContaining({
    _tag,
    status,
    type: `http://posthorn.test/reference#${_tag}`,
    title: expect.any(String),
    detail: expect.any(String),
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/)
  })

/** An event whose JSON has exactly this many bytes. */
const eventOf = (bytes: number) => {
  const empty = JSON.stringify({ eventType: "a.b", payload: "" })
  return JSON.stringify({ eventType: "a.b", payload: "x".repeat(bytes - empty.length) })
}

const publishText = (ws: Entered, text: string, headers: CallOptions["headers"] = {}) =>
  ws.call("POST", "/events", { text, headers })

layer(testServer(), { excludeTestServices: true })("input", (it) => {
  const entered = Effect.flatMap(TestServer, ({ enter }) => enter)
  const head = (ws: Entered, path: string, ...headers: ReadonlyArray<string>) =>
    [
      `POST /workspaces/${ws.slug}${path} HTTP/1.1`,
      "host: x",
      `authorization: Bearer ${ws.token}`,
      "content-type: application/json",
      ...headers,
      "",
      ""
    ].join("\r\n")

  it.effect("§2.7 a body of 1 MiB is accepted and one of a byte more is 413", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const fits = yield* publishText(ws, eventOf(MIB))
      const exceeds = yield* publishText(ws, eventOf(MIB + 1))

      expect(fits.status).toBe(202)
      expect(exceeds.body).toEqual(problem("PayloadTooLarge", 413))
      expect(exceeds.headers.get("x-trace-id")).toBe(exceeds.body.traceId)
    })
  )

  it.effect(
    "§2.7 a body whose announced length is too large is refused before it is sent, and the connection closed",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered

        const announced = yield* sendRaw(url, (socket) =>
          socket.write(head(ws, "/events", `content-length: ${50 * MIB}`))
        )
        const asked = yield* sendRaw(url, (socket) =>
          socket.write(head(ws, "/events", `content-length: ${50 * MIB}`, "expect: 100-continue"))
        )

        for (const answer of [announced, asked]) {
          expect(answer.body).toEqual(problem("PayloadTooLarge", 413))
          expect(answer.headers.connection).toBe("close")
          expect(answer.closed).toBe(true)
        }
      })
  )

  it.effect(
    "§2.7 a body without a length is stopped at the limit, and its sender gets the whole answer",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`

        const answer = yield* sendRaw(url, (socket) => {
          socket.write(head(ws, "/events", "transfer-encoding: chunked"))
          for (let sent = 0; sent < 40; sent++) socket.write(chunk)
          socket.write("0\r\n\r\n")
        })

        expect(answer.body).toEqual(problem("PayloadTooLarge", 413))
        expect(answer.closed).toBe(true)
      })
  )

  it.effect(
    "§2.7 request line and headers over 16 KiB are 431, and anything but HTTP is 400, both as problems",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered

        const headers = yield* sendRaw(url, (socket) =>
          socket.write(head(ws, "/events", `x-filler: ${"x".repeat(17_000)}`))
        )
        const path = yield* sendRaw(url, (socket) =>
          socket.write(`GET /${"x".repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`)
        )
        const nonsense = yield* sendRaw(url, (socket) => socket.write("hello\r\n\r\n"))

        for (const answer of [headers, path]) {
          expect(answer.status).toBe(431)
          expect(answer.body).toEqual(problem("HeadersTooLarge", 431))
          expect(answer.headers["x-trace-id"]).toBe(answer.body.traceId)
        }
        expect(nonsense.body).toEqual(problem("InvalidRequest", 400))
        expect(nonsense.text).toContain("The method is not known")
      })
  )

  it.effect("§7.1 Host is optional, and an unknown expectation is a problem", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer

      const hostless = yield* sendRaw(url, (socket) => socket.write("GET /nothing HTTP/1.1\r\n\r\n"))
      const expecting = yield* sendRaw(url, (socket) =>
        socket.write("GET /health/live HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n\r\n")
      )

      expect(hostless.body).toEqual(problem("RouteNotFound", 404))
      expect(expecting.body).toEqual(problem("InvalidRequest", 400))
      expect(expecting.headers["x-trace-id"]).toBe(expecting.body.traceId)
    })
  )

  it.effect("§7.1 a body of another media type is 415, whatever it contains", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const text = JSON.stringify({ eventType: "a.b", payload: 1 })

      const types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json-patch+json",
        "application/json; charset=iso-8859-1"
      ]
      const refused = yield* Effect.forEach(types, (type) => publishText(ws, text, { "content-type": type }))
      const taken = yield* publishText(ws, text, { "content-type": "Application/JSON; charset=utf-8" })

      expect(refused.map(({ body }) => body)).toEqual(types.map(() => problem("UnsupportedMediaType", 415)))
      expect(taken.status).toBe(202)
      const zipped = yield* publishText(ws, text, { "content-encoding": "gzip" })
      expect(zipped.body).toEqual(problem("UnsupportedMediaType", 415))
    })
  )

  it.effect("§7.1 an issue says in plain words what was expected", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpoint = { url: "https://example.com/x", eventTypes: ["*"] }
      const cases: ReadonlyArray<readonly [path: string, text: string, said: string]> = [
        ["/events", "", "The body is empty: send a JSON object"],
        ["/events", "1", "Expected an object"],
        ["/events", '{"eventType":"a.b","payload":1,"idempotencyKey":""}', "Expected at least 1 character"],
        ["/webhooks", JSON.stringify({ ...endpoint, eventTypes: [] }), "Expected at least 1 item"],
        [
          "/webhooks",
          JSON.stringify({ ...endpoint, description: "\0" }),
          "Expected text without NUL and lone surrogates, or null"
        ]
      ]

      const answers = yield* Effect.forEach(cases, ([path, text]) => ws.call("POST", path, { text }))

      const said = answers.map(({ body }) => (body.issues as ReadonlyArray<{ message: string }>)[0]?.message)
      expect(said).toEqual(cases.map(([, , message]) => message))
    })
  )

  it.effect(
    "§4.3 anything but a JSON object of the expected shape is 400 with a pointer, and repeats nothing of it",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const secret = "whsec_c2VjcmV0"
        const cases: ReadonlyArray<readonly [text: string, path: string]> = [
          ["", ""],
          ["{", ""],
          [`"${secret}"`, ""],
          ["null", ""],
          [`[${JSON.stringify(secret)}]`, ""],
          [`{"eventTypes":["*"],"url":{"secret":"${secret}"}}`, "/url"],
          [`{"eventTypes":["${secret} "],"url":"https://example.com"}`, "/eventTypes/0"],
          [`{"eventTypes":"${secret}","url":"https://example.com"}`, "/eventTypes"],
          [`{"url":"https://example.com"}`, "/eventTypes"],
          [`{"eventTypes":["*"],"url":"https://example.com","extra":"${secret}"}`, "/extra"],
          [`{"eventTypes":["*"],"url":"https://example.com","enabled":"${secret}"}`, "/enabled"],
          [`{"eventTypes":["*"],"url":"https://example.com","description":["${secret}"]}`, "/description"],
          [`{"eventTypes":${"[".repeat(2_000)}${"]".repeat(2_000)},"url":"x"}`, ""]
        ]

        const answers = yield* Effect.forEach(cases, ([text]) => ws.call("POST", "/webhooks", { text }))

        for (const [index, answer] of answers.entries()) {
          const [text, path] = cases[index]!
          expect(answer.body, text.slice(0, 80)).toEqual(problem("InvalidRequest", 400))
          expect(answer.text).not.toMatch(/c2VjcmV0/)
          const [issue] = (
            answer.body as unknown as { issues: ReadonlyArray<{ path: string; message: string }> }
          ).issues
          expect(issue!.path, text.slice(0, 80)).toBe(path)
          expect(issue!.message).toMatch(/^(?:[A-Z]|is )/)
          expect(issue!.message).not.toMatch(/readonly|minLength|maxLength|undefined|\{|Refinement|filter/)
        }
      })
  )

  it.effect("§2.7 a body that is not UTF-8 is 400", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const ws = yield* entered
      const bytes = Buffer.from([
        ...Buffer.from('{"eventType":"a.b","payload":"'),
        0xff,
        0xfe,
        ...Buffer.from('"}')
      ])

      const answer = yield* sendRaw(url, (socket) => {
        socket.write(head(ws, "/events", `content-length: ${bytes.length}`))
        socket.write(bytes)
      })

      expect(answer.body).toEqual(problem("InvalidRequest", 400))
      expect(answer.text).toContain("UTF-8")
    })
  )

  it.effect("§4.3 the last of a repeated member counts, and a POST without a body needs no type", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const twice = yield* publishText(ws, '{"eventType":"first.one","eventType":"last.one","payload":1}')
      const endpoint = yield* ws.call("POST", "/webhooks", {
        body: { url: "https://example.com/x", eventTypes: ["*"] }
      })
      const bare = yield* ws.call("POST", `/webhooks/${endpoint.body.id}/rotate-secret`)

      expect(twice.body.eventType).toBe("last.one")
      expect(bare.status).toBe(200)
    })
  )
})
