/** Limits of connections: time, concurrent requests, and how many there are. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { expect, layer } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { Context, Effect, Layer, Logger } from "effect"
import { BodyBudget } from "../../src/http/BodyBudget.ts"
import { ConnectionLimits, defaultConnectionLimits } from "../../src/http/ConnectionLimits.ts"
import { sendRaw } from "../RawHttp.ts"
import { type Entered, TestServer, testServer } from "../TestServer.ts"

const problem = (_tag: string, status: number) => expect.objectContaining({ _tag, status })

/** How much later than its deadline an answer may arrive. */
const LATE_MS = 700

const limits = {
  headersMs: 700,
  bodyMs: 1_400,
  connections: 20,
  connectionsPerAddress: 20,
  requestsAtOnce: 8,
  requests: 2_048,
  bodyBytes: 2_097_152,
  stalledMs: 600
}

const head = (ws: Entered, path: string, ...headers: ReadonlyArray<string>) =>
  [
    `POST /workspaces/${ws.slug}${path} HTTP/1.1`,
    "host: x",
    `authorization: Bearer ${ws.token}`,
    ...headers,
    "",
    ""
  ].join("\r\n")

const JSON_BODY = ["content-type: application/json", "content-length: 50"]

const said: Array<string> = []
const listening = Logger.replace(
  Logger.defaultLogger,
  Logger.map(Logger.jsonLogger, (line) => void said.push(line))
)

layer(testServer({ limits }).pipe(Layer.provide(listening)), { excludeTestServices: true })(
  "connections",
  (it) => {
    const entered = Effect.flatMap(TestServer, ({ enter }) => enter)

    /** The time until the answer to a slowly sent request, which is due at this deadline. */
    const timed = (deadlineMs: number, first: string, piece: string) =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const from = performance.now()
        let dripping: NodeJS.Timeout | undefined
        let answeredAfter = 0
        const answer = yield* sendRaw(url, (socket) => {
          socket.write(first)
          dripping = setInterval(() => socket.write(piece), 50)
          socket.once("data", () => {
            answeredAfter = performance.now() - from
            clearInterval(dripping)
          })
        })
        clearInterval(dripping)
        return { answer, answeredAfter }
      }).pipe((each) => atBest(deadlineMs + LATE_MS, each, ({ answeredAfter }) => answeredAfter))

    it.effect(
      "§7.1 10 s for headers, 30 for a body, 4,096 connections, 1,024 of an address, 64 requests at once, 2,048 of all, 64 MiB",
      () =>
        Effect.gen(function* () {
          expect(Context.get(Context.empty(), ConnectionLimits)).toEqual({
            headersMs: 10_000,
            bodyMs: 30_000,
            connections: 4_096,
            connectionsPerAddress: 1_024,
            requestsAtOnce: 64,
            requests: 2_048,
            bodyBytes: 67_108_864,
            stalledMs: 30_000
          })
        })
    )

    it.effect("§7.1 signing in accepts 4 KiB, whoever asks, and however it is sent", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        for (const path of ["session", "link"])
          for (const [length, body] of [
            ["content-length: 4097", ""],
            ["transfer-encoding: chunked", `1001\r\n${" ".repeat(4097)}\r\n`]
          ]) {
            const headers = `host: x\r\ncontent-type: application/json\r\n${length}`
            const answer = yield* sendRaw(url, (socket) =>
              socket.write(`POST /console/${path} HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
            )
            expect(answer.body).toMatchObject({ _tag: "PayloadTooLarge", limitBytes: 4096 })
          }
      })
    )

    it.effect("§7.1 a caller holds a quarter of the memory for bodies: beyond it 503, others go on", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const [ws, other] = [yield* entered, yield* entered]
        const body = `{"eventType":"a.b","payload":"${"x".repeat(400_000)}"}`
        const headOf = (each: Entered) =>
          head(each, "/events", "content-type: application/json", `content-length: ${body.length}`)
        const holding = Effect.async<Socket>((resume) => {
          const socket = connect(Number(new URL(url).port), "127.0.0.1", () => {
            socket.write(headOf(ws) + body.slice(0, -1))
            resume(Effect.succeed(socket))
          })
        })
        /** A caller is the same, however it spells its token's scheme. */
        const send = (each: Entered) =>
          sendRaw(url, (socket) => socket.write(headOf(each).replace("Bearer ", "bearer   ") + body))
        /** Two at once are more than a quarter: one of them is refused, possibly the one that came first. */
        const contend = Effect.gen(function* () {
          const held = yield* holding
          const answer = yield* send(ws)
          if (answer.status === 202) held.destroy()
          return { answer, held }
        })

        const { answer: refused, held } = yield* Effect.repeat(contend, {
          until: ({ answer }) => answer.status !== 202,
          times: 50
        })
        const taken = yield* send(other)
        held.destroy()
        const after = yield* Effect.repeat(send(ws), { until: ({ status }) => status === 202, times: 50 })

        expect(refused).toMatchObject({ status: 503, body: { _tag: "ServiceUnavailable" } })
        expect(refused.headers["retry-after"]).toBe("1")
        expect([taken.status, after.status]).toEqual([202, 202])
      })
    )

    it.effect("§7.1 a caller holds a quarter of the memory for bodies, and all together hold all of it", () =>
      Effect.sync(() => {
        const budget = new BodyBudget(400)
        const taken = ["a", "a", "b", "c", "d", "e"].map((key) => budget.take(key, key === "e" ? 1 : 100))
        budget.giveBack("a", 100)
        expect(taken).toEqual([true, false, true, true, true, false])
        expect([budget.take("b", 1), budget.take("e", 100), budget.take("a", 1)]).toEqual([
          false,
          true,
          false
        ])
      })
    )

    it.effect(
      "§7.1 an answer that nobody reads is cut off, and one that is read slowly is not",
      () =>
        Effect.gen(function* () {
          const { url } = yield* TestServer
          const ws = yield* entered
          const payload = "x".repeat(400_000)
          for (let n = 0; n < 12; n++)
            yield* ws.call("POST", "/events", { body: { eventType: "a.b", payload } })
          // As many as are answered concurrently: more than the kernel buffers for a client that does not read.
          const ask = `GET /workspaces/${ws.slug}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ws.token}\r\n\r\n`
          const asked = ask.repeat(limits.requestsAtOnce)
          const whole = limits.requestsAtOnce * 1_200_000
          const { port } = new URL(url)
          /** Bytes received by a client that begins to read after this time, and pauses after each piece. */
          const received = (afterMs: number, restMs: number) =>
            Effect.async<number>((resume) => {
              let bytes = 0
              const socket = connect(Number(port), "127.0.0.1", () => socket.write(asked))
              const rest = (ms: number) => {
                socket.pause()
                // biome-ignore lint/plugin: a slow client
                setTimeout(() => socket.resume(), ms)
              }
              socket.on("error", () => {})
              socket.on("data", ({ length }) => {
                bytes += length
                if (bytes >= whole) socket.destroy()
                else if (restMs > 0) rest(restMs)
              })
              if (afterMs > 0) rest(afterMs)
              socket.on("close", () => resume(Effect.succeed(bytes)))
            })

          const [stalled, slow] = yield* Effect.all([received(limits.stalledMs * 4, 0), received(0, 2)], {
            concurrency: 2
          })

          expect(stalled).toBeLessThan(whole)
          expect(slow).toBeGreaterThanOrEqual(whole)
        }),
      30_000
    )

    it.effect("§7.1 headers that drip in are 408 at their deadline, and the connection is closed", () =>
      Effect.gen(function* () {
        const { answer, answeredAfter } = yield* timed(
          limits.headersMs,
          "GET /health/live HTTP/1.1\r\nx-filler: ",
          "x"
        )

        expect(answer.body).toEqual(problem("RequestTimeout", 408))
        expect(answer.status).toBe(408)
        expect(answer.headers.connection).toBe("close")
        expect(answer.closed).toBe(true)
        expect(answeredAfter).toBeGreaterThanOrEqual(limits.headersMs)
        expect(answeredAfter).toBeLessThan(limits.headersMs + LATE_MS)
      })
    )

    it.effect("§7.1 a body that drips in is 408 at its deadline, through REST and through MCP", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const mcp = [
          "POST /mcp HTTP/1.1",
          "host: 127.0.0.1",
          `authorization: Bearer ${ws.token}`,
          ...JSON_BODY,
          "",
          ""
        ]

        for (const first of [head(ws, "/events", ...JSON_BODY), mcp.join("\r\n")]) {
          const { answer, answeredAfter } = yield* timed(limits.bodyMs, first, " ")

          expect(answer.body).toEqual(problem("RequestTimeout", 408))
          expect(answer.status).toBe(408)
          expect(answer.headers["x-trace-id"]).toBe(answer.body.traceId)
          expect(answer.headers.connection).toBe("close")
          expect(answer.closed).toBe(true)
          expect(answeredAfter).toBeGreaterThanOrEqual(limits.bodyMs)
          expect(answeredAfter).toBeLessThan(limits.bodyMs + LATE_MS)
        }
      })
    )

    it.effect("§7.1 an unread body does not hold its connection longer", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const most = limits.headersMs + limits.bodyMs + LATE_MS
        const held = Effect.promise(async () => {
          const from = performance.now()
          const socket = connect(Number(new URL(url).port), "127.0.0.1")
          socket.write(head(ws, "/webhooks/whe_0/rotate-secret", "content-length: 50"))
          await once(socket.resume(), "close")
          return performance.now() - from
        })

        expect(yield* atBest(most, held, (ms) => ms)).toBeLessThan(most)
      })
    )

    it.effect("§7.1 connections beyond the limit are closed at once, and the others go on", () =>
      Effect.gen(function* () {
        const { call, url } = yield* TestServer
        const port = Number(new URL(url).port)
        const idle = Array.from({ length: limits.connections + 10 }, () => connect(port, "127.0.0.1"))

        yield* Effect.promise(() => Promise.any(idle.map((socket) => once(socket.resume(), "close"))))
        const closed = idle.filter((socket) => socket.destroyed || socket.readableEnded).length
        for (const socket of idle) socket.destroy()
        const after = yield* call("GET", "/health/live")

        expect(said.filter((line) => line.includes("All 20 connections are taken"))).toHaveLength(1)
        expect(closed).toBeGreaterThan(0)
        expect(closed).toBeLessThanOrEqual(11)
        expect(after.status).toBe(200)
      })
    )

    it.effect("§7.1 HTTP before 1.0 and after 1.1 is 400", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer

        for (const line of ["GET /health/live", "GET /health/live HTTP/0.9", "GET /health/live HTTP/2.0"]) {
          const answer = yield* sendRaw(url, (socket) => socket.write(`${line}\r\n\r\n`))

          expect(answer.body, line).toEqual(problem("InvalidRequest", 400))
          expect(answer.text).toContain("use HTTP/1.1")
          expect(answer.closed).toBe(true)
        }
      })
    )

    it.effect("§7.1 every answer forbids browsers to guess its type", () =>
      Effect.gen(function* () {
        const { call, url } = yield* TestServer
        const ws = yield* entered
        const raw = ["hello\r\n\r\n", "GET / HTTP/1.1\r\nexpect: miracles\r\n\r\n", "GET /# HTTP/1.1\r\n\r\n"]
        const paths = [
          "/",
          "/reference",
          "/openapi.json",
          "/llms.txt",
          "/health/live",
          "/health/ready",
          "/mcp",
          "/no"
        ]

        const answers = yield* Effect.forEach(paths, (path) => call("GET", path))
        const own = yield* Effect.forEach(["/webhooks", "/webhooks/whe_0"], (path) => ws.call("GET", path))
        const mcp = yield* call("POST", "/mcp", {
          token: ws.token,
          body: { jsonrpc: "2.0", id: 1, method: "ping" }
        })
        const refused = yield* Effect.forEach(raw, (text) => sendRaw(url, (socket) => socket.write(text)))

        for (const { headers } of [...answers, ...own, mcp])
          expect(headers.get("x-content-type-options")).toBe("nosniff")
        for (const { headers } of refused) expect(headers["x-content-type-options"]).toBe("nosniff")
      })
    )
  }
)

layer(testServer({ limits: { ...defaultConnectionLimits, connectionsPerAddress: 4 } }), {
  excludeTestServices: true
})("connections of one address", (it) => {
  it.effect("§7.1 connections of one address beyond its limit are closed, and others are served", () =>
    Effect.gen(function* () {
      const { port } = new URL((yield* TestServer).url)
      const open = (localAddress: string) =>
        connect({ port: Number(port), host: "127.0.0.1", localAddress }).on("error", () => {})
      const held = Array.from({ length: 4 }, () => open("127.0.0.2"))
      yield* Effect.promise(() => Promise.all(held.map((socket) => once(socket, "connect"))))

      const further = open("127.0.0.2")
      yield* Effect.promise(() => once(further, "close"))
      const other = open("127.0.0.3")
      other.write("GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n")
      const [answer] = yield* Effect.promise(() => once(other, "data"))

      expect(String(answer)).toContain("200 OK")
      for (const socket of [...held, other]) socket.destroy()
    })
  )
})
