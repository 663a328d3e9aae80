import type { AddressInfo } from "node:net"
import { createServer } from "node:tls"
import { describe, expect, it, vi } from "@effect/vitest"
import { authority, certificate } from "@posthorn/testkit/Certificates"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import type { DispatchOptions } from "../src/Dispatch.ts"
import { dispatcher, failed, ok, seen, to } from "./Sending.ts"

describe("connecting", () => {
  const observe = (url: string, options: Partial<DispatchOptions> = {}) =>
    Effect.scoped(Effect.flatMap(dispatcher(options), ({ send }) => Effect.map(send(to(url)), seen)))

  it.scopedLive("§4.5 calls it connection_failed when nobody listens, or nobody ever answers", () =>
    Effect.gen(function* () {
      const closed = yield* Effect.scoped(Effect.map(makeReceiver(), ({ url }) => url("/ok")))
      expect(yield* observe(closed)).toEqual(failed("connection_failed", "refused"))
      for (const [accept, detail] of [
        ["reset", "reset"],
        ["hang-up", "closed_early"]
      ] as const)
        for (const options of [{ accept }, { accept, tls: "valid" }] as const) {
          const { url } = yield* makeReceiver(options)
          expect(yield* observe(url("/ok"))).toEqual(failed("connection_failed", detail))
        }
    })
  )

  it.scopedLive("§4.5 calls a name without an address dns_failed", () =>
    Effect.gen(function* () {
      const notFound = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" })

      // The system answers this without a query: no part of a name may be that long.
      const system = observe(`https://${"a".repeat(64)}.example/`)
      const error = observe("https://nowhere.example/", { resolve: (_, callback) => callback(notFound, []) })
      const empty = observe("https://nowhere.example/", { resolve: (_, callback) => callback(null, []) })

      expect(yield* system).toEqual(failed("dns_failed"))
      expect(yield* error).toEqual(failed("dns_failed"))
      expect(yield* empty).toEqual(failed("dns_failed"))
    })
  )

  it.scopedLive("§2.8 connects to no refused address, literal or resolved", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const judged: Array<string> = []
      const refuses: DispatchOptions["refuses"] = (...each) => judged.push(each.join(" ")) > 0

      const literal = yield* observe(receiver.url("/ok"), { refuses })
      const resolved = yield* observe(receiver.url("/ok", "localhost"), { refuses })
      const literal6 = yield* observe(receiver.url("/ok", "[::1]"), { refuses })

      expect([literal, literal6]).toEqual(Array(2).fill(failed("connection_failed")))
      expect(resolved).toEqual(failed("dns_failed"))
      expect(receiver.connections.opened).toBe(0)
      expect(judged).toContain(`127.0.0.1 ${receiver.port} 127.0.0.1`)
      expect(judged).toContain(`127.0.0.1 ${receiver.port} localhost`)
      expect(judged).toContain(`::1 ${receiver.port} ::1`)
    })
  )

  it.scopedLive(
    "§2.8 a name that resolves to a refused address fails exactly like one that does not resolve",
    () =>
      Effect.gen(function* () {
        const inner = [{ address: "10.0.0.7", family: 4 }]
        const notFound = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" })
        const refuses: DispatchOptions["refuses"] = (address) => address.startsWith("10.")
        const attempt = (resolve: DispatchOptions["resolve"]) =>
          Effect.gen(function* () {
            const { connections, send } = yield* dispatcher({ refuses, resolve })
            const observation = yield* send(to("https://billing.corp.example/"))
            return { observation: { ...observation, durationMs: 0 }, connections: connections() }
          }).pipe(Effect.scoped)

        const exists = yield* attempt((_, callback) => callback(null, inner))
        const none = yield* attempt((_, callback) => callback(notFound, []))

        expect(exists).toEqual(none)
        expect(exists.observation.failureReason).toBe("dns_failed")
      })
  )

  it.scopedLive("§2.8 connects to the remaining addresses when some are refused", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const addresses = ["10.0.0.1", "127.0.0.1", "169.254.169.254"].map((address) => ({
        address,
        family: 4
      }))

      const observation = yield* observe(receiver.url("/ok", "mixed.example"), {
        resolve: (_, callback) => callback(null, addresses),
        refuses: (address) => address !== "127.0.0.1"
      })

      expect(observation).toEqual(ok)
    })
  )

  it.scopedLive("looks up a name once, however many requests wait for it", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      let lookups = 0
      const { send } = yield* dispatcher({
        resolve: (_, callback) => {
          lookups += 1
          setImmediate(() => callback(null, [{ address: "127.0.0.1", family: 4 }]))
        }
      })

      const observations = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => send(to(receiver.url("/ok", "shared.example"))),
        { concurrency: "unbounded" }
      )

      expect(observations.map(seen)).toEqual(Array(10).fill(ok))
      expect(lookups).toBe(1)
    })
  )

  it.scopedLive("§3.4 verifies certificates, and calls a refusal tls_failed, repeatedly", () =>
    Effect.gen(function* () {
      for (const [tls, detail] of [
        ["expired", "certificate_expired"],
        ["other-name", "wrong_host"],
        ["other-ca", "incomplete_chain"],
        ["self-signed", "self_signed"]
      ] as const) {
        const receiver = yield* makeReceiver({ tls })
        const { send } = yield* dispatcher()
        const observations = yield* Effect.replicateEffect(send(to(receiver.url("/ok", "localhost"))), 3)
        expect(observations.map(seen), tls).toEqual(Array(3).fill(failed("tls_failed", detail)))
        expect(receiver.received, tls).toEqual([])
      }
    })
  )

  it.scopedLive("§4.5 says when nobody knows the authority at the end of a chain", () =>
    Effect.gen(function* () {
      const { cert, key } = certificate("valid")
      const chained = createServer({ cert: `${cert}\n${authority()}`, key })
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void chained.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => chained.close())
      )
      const { port } = chained.address() as AddressInfo

      expect(yield* observe(`https://127.0.0.1:${port}/`, { ca: undefined })).toEqual(
        failed("tls_failed", "unknown_issuer")
      )
    })
  )

  it.scopedLive("§10 has no switch that turns certificate checks off", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver({ tls: "self-signed" })
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          vi.spyOn(process, "emitWarning").mockReturnValue()
          process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
        }),
        () =>
          Effect.sync(() => {
            delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
            vi.restoreAllMocks()
          })
      )

      expect(yield* observe(receiver.url("/ok"))).toEqual(failed("tls_failed", "self_signed"))
    })
  )

  it.scopedLive("accepts a certificate for the name, the wildcard, and the address", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver({ tls: "valid" })
      const resolve: DispatchOptions["resolve"] = (_, callback) =>
        callback(null, [{ address: "127.0.0.1", family: 4 }])

      for (const host of ["localhost", "zoo.test", "a.zoo.test", "127.0.0.1", "zoo.test."]) {
        expect(yield* observe(receiver.url("/ok", host), { resolve }), host).toEqual(ok)
      }
      expect(yield* observe(receiver.url("/ok", "elsewhere.test"), { resolve })).toEqual(
        failed("tls_failed", "wrong_host")
      )
    })
  )

  it.scopedLive(
    "calls plain HTTP where TLS is expected tls_failed, and TLS where HTTP is expected invalid",
    () =>
      Effect.gen(function* () {
        const plain = yield* makeReceiver()
        const secure = yield* makeReceiver({ tls: "valid" })

        expect(yield* observe(plain.url("/ok").replace("http:", "https:"))).toEqual(
          failed("tls_failed", "not_tls")
        )
        expect(yield* observe(secure.url("/ok").replace("https:", "http:"))).toMatchObject({
          httpStatus: null
        })
      })
  )
})
