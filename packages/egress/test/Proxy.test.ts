/** Requests through a real proxy: which failures are its own, and that no request goes past it. */
import { describe, expect, it } from "@effect/vitest"
import { type ConnectProxy, make as makeProxy, type ProxyBehaviour } from "@posthorn/testkit/ConnectProxy"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Either, Redacted } from "effect"
import type { DispatchOptions } from "../src/Dispatch.ts"
import { parseProxy } from "../src/Proxy.ts"
import { dispatcher, failed, ok, seen, to } from "./Sending.ts"

const through = ({ port }: Pick<ConnectProxy, "port">, options: Partial<DispatchOptions> = {}) =>
  dispatcher({ proxy: { host: "127.0.0.1", port, authorization: null }, ...options })

const observe = (proxy: Pick<ConnectProxy, "port">, url: string, options: Partial<DispatchOptions> = {}) =>
  Effect.scoped(Effect.flatMap(through(proxy, options), ({ send }) => Effect.map(send(to(url)), seen)))

/** A short deadline. */
const SHORT = { requestTimeoutMs: 400 }

describe("a proxy", () => {
  it.scopedLive(
    "§3.4 is asked to connect to http: and https: targets, once for each kept-alive connection",
    () =>
      Effect.gen(function* () {
        const proxy = yield* makeProxy()
        const plain = yield* makeReceiver()
        const secure = yield* makeReceiver({ tls: "valid" })
        const { connections, send } = yield* through(proxy)

        for (const url of [plain.url("/ok"), secure.url("/ok"), plain.url("/ok"), secure.url("/ok")])
          expect(seen(yield* send(to(url)))).toEqual(ok)

        expect(proxy.asked).toEqual([
          `CONNECT 127.0.0.1:${plain.port} HTTP/1.1\r\nhost: 127.0.0.1:${plain.port}\r\n\r\n`,
          expect.stringMatching(new RegExp(`^CONNECT [^ ]+:${secure.port} HTTP/1.1\r\n`))
        ])
        expect(connections()).toEqual({ open: 2, idle: 2 })
      })
  )

  it.scopedLive("§3.4 gets its credentials, and the receiver does not", () =>
    Effect.gen(function* () {
      const proxy = yield* makeProxy()
      const receiver = yield* makeReceiver()
      const { authorization } = Either.getOrThrow(parseProxy("http://post%40horn:s%3Ae@127.0.0.1:1"))

      expect(
        yield* observe(proxy, receiver.url("/ok"), {
          proxy: { host: "127.0.0.1", port: proxy.port, authorization }
        })
      ).toEqual(ok)

      expect(proxy.asked[0]).toContain(
        `proxy-authorization: Basic ${Buffer.from("post@horn:s:e").toString("base64")}\r\n`
      )
      const [request] = yield* receiver.waitFor(1)
      expect(request!.headers.map(([name]) => name)).not.toContain("proxy-authorization")
    })
  )

  it.scopedLive(
    "§2.8 resolves names, which are not looked up here; literal addresses are checked before",
    () =>
      Effect.gen(function* () {
        const proxy = yield* makeProxy()
        const receiver = yield* makeReceiver()
        const resolve = () => expect.unreachable()
        const literal = yield* observe(proxy, receiver.url("/ok"), { refuses: () => true })
        expect(literal).toEqual(failed("connection_failed"))
        expect(proxy.asked).toEqual([])

        const named = yield* observe(proxy, receiver.url("/ok", "inside.example"), {
          resolve,
          refuses: () => true
        })
        expect(named).toEqual(ok)
        expect(proxy.asked[0]).toContain(`CONNECT inside.example:${receiver.port} `)
      })
  )

  it.scopedLive("§3.4 may have any address, and is looked up as names are", () =>
    Effect.gen(function* () {
      const { port } = yield* makeProxy()
      const receiver = yield* makeReceiver()
      const proxy = { host: "proxy.example", port, authorization: null }
      const refuses = (address: string, _: number, host: string) => host !== "127.0.0.1" || address !== host
      const found = yield* observe({ port }, receiver.url("/ok"), {
        ...{ proxy, refuses },
        resolve: (name, done) => done(null, name === proxy.host ? [{ address: "127.0.0.1", family: 4 }] : [])
      })
      const lost = yield* observe({ port }, receiver.url("/ok"), {
        ...{ proxy, refuses },
        resolve: (_, done) => done(null, [])
      })

      expect([found, lost]).toEqual([ok, failed("proxy_failed")])
    })
  )

  const OWN: Readonly<Record<string, ProxyBehaviour>> = {
    "closes without an answer": "close",
    "wants other credentials": { answer: "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n" },
    "refuses the target": { answer: "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno" },
    "knows no CONNECT": { answer: "HTTP/1.0 501 Not Implemented\r\n\r\n" },
    "fails by itself": { answer: "HTTP/1.1 500 Internal Server Error\r\n\r\n" },
    redirects: { answer: "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\n\r\n" },
    "changes the protocol": { answer: "HTTP/1.1 101 Switching Protocols\r\n\r\n" },
    "speaks something else": { answer: "220 ready\r\n\r\n" },
    "answers with a status that is none": { answer: "HTTP/1.1 2OO OK\r\n\r\n" },
    "sends a head without end": { answer: `HTTP/1.1 200 OK\r\n${"x-a: aaaaaaaaaaaaaaa\r\n".repeat(900)}` },
    "sends interim answers without end": { answer: "HTTP/1.1 100 Continue\r\n\r\n".repeat(900) },
    "speaks before the receiver was asked": { answer: "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" },
    "does not answer": "silent",
    "begins to answer": { answer: "HTTP/1.1 20" }
  }
  for (const [what, behaviour] of Object.entries(OWN))
    it.scopedLive(`§3.4 that ${what} counts as failing itself`, () =>
      Effect.gen(function* () {
        const proxy = yield* makeProxy(behaviour)
        const options = behaviour === "silent" || what === "begins to answer" ? SHORT : {}

        expect(yield* observe(proxy, "https://hooks.example/", options)).toEqual(failed("proxy_failed"))
        expect(yield* observe(proxy, "http://hooks.example/", options)).toEqual(failed("proxy_failed"))
      })
    )

  it.scopedLive("§3.4 that does not run counts as failing itself", () =>
    Effect.gen(function* () {
      const { port } = yield* Effect.scoped(makeProxy())
      expect(yield* observe({ port }, "https://hooks.example/")).toEqual(failed("proxy_failed"))
    })
  )

  it.scopedLive(
    "§3.4 says by 502 to 504 that it did not reach the endpoint, and passes the endpoint's failures on",
    () =>
      Effect.gen(function* () {
        const proxy = yield* makeProxy()
        const closed = yield* Effect.scoped(Effect.map(makeReceiver(), ({ url }) => url("/ok")))
        const strange = yield* makeReceiver({ tls: "other-name" })
        const plain = yield* makeReceiver()
        const hanging = yield* makeReceiver()

        expect(yield* observe(proxy, closed)).toEqual(failed("connection_failed"))
        expect(yield* observe(proxy, strange.url("/ok"))).toEqual(failed("tls_failed", "wrong_host"))
        expect(yield* observe(proxy, plain.url("/ok").replace("http:", "https:"))).toEqual(
          failed("tls_failed", "not_tls")
        )
        expect(yield* observe(proxy, hanging.url("/hang"), SHORT)).toEqual(failed("request_timeout"))
        for (const status of [502, 503, 504]) {
          proxy.behaviour = { answer: `HTTP/1.1 ${status} No\r\n\r\n` }
          expect(yield* observe(proxy, "https://hooks.example/")).toEqual(failed("connection_failed"))
        }
      })
  )

  it.scopedLive("§3.4 that serves others leaves the blame for an unanswered CONNECT to the endpoint", () =>
    Effect.gen(function* () {
      const proxy = yield* makeProxy()
      const receiver = yield* makeReceiver()
      const { send } = yield* through(proxy, { requestTimeoutMs: 3_000 })
      expect(seen(yield* send(to(receiver.url("/ok"))))).toEqual(ok)

      proxy.behaviour = "silent"
      const away = yield* Effect.fork(send(to("https://hooks.example/")))
      yield* proxy.waitFor(2)
      expect(seen(yield* send(to(receiver.url("/ok"))))).toEqual(ok)

      expect(seen(yield* away)).toEqual(failed("request_timeout", "connect_timeout"))
    })
  )
})

describe("DELIVERY_PROXY", () => {
  it("§10 is an http address with a port, and its credentials are not shown", () => {
    const read = (text: string) =>
      Either.map(parseProxy(text), ({ authorization, host, port }) => [
        host,
        port,
        authorization === null ? null : atob(Redacted.value(authorization).slice(6))
      ])
    expect(read("http://proxy.example:3128")).toEqual(Either.right(["proxy.example", 3128, null]))
    expect(read(" http://user:p%40ss@10.0.0.1:80/ ")).toEqual(Either.right(["10.0.0.1", 80, "user:p@ss"]))
    expect(read("http://[fd00::1]:3128")).toEqual(Either.right(["fd00::1", 3128, null]))
    for (const text of [
      "proxy.example:3128",
      "https://proxy.example:3128",
      "socks5://proxy.example:1080",
      "http://proxy.example",
      "http://proxy.example:0",
      "http://proxy.example:70000",
      "http://proxy.example:3128/path",
      "http://proxy.example:3128?a=b",
      "http://us%3Aer:secret@proxy.example:3128",
      "http://%zz:secret@proxy.example:3128",
      ""
    ]) {
      const problem = Either.getOrThrow(Either.flip(parseProxy(text)))
      expect(problem).not.toContain("secret")
    }
    expect(String(Either.getOrThrow(parseProxy("http://user:secret@a:1")).authorization)).not.toContain(
      "secret"
    )
  })
})
