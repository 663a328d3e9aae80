/** What a receiver may choose in a TLS handshake, and how many of a workspace's are under way. Real sockets and certificates. */
import { createServer as createTcpServer } from "node:net"
import { createServer, type TlsOptions } from "node:tls"
import { describe, expect, it } from "@effect/vitest"
import { type Certificate, certificate } from "@posthorn/testkit/Certificates"
import { until } from "@posthorn/testkit/Until"
import { Effect, Fiber } from "effect"
import { HANDSHAKES } from "../src/Handshake.ts"
import { dispatcher, failed, seen, to } from "./Sending.ts"

const listening = (server: ReturnType<typeof createTcpServer>) =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed((server.address() as { readonly port: number }).port))
      )
    }),
    () => Effect.sync(() => server.close())
  )

/** Answers 200 to each read. */
const receiver = (name: Certificate, options: TlsOptions = {}) =>
  listening(
    createServer({ ...certificate(name), ...options }, (socket) => {
      socket.on("error", () => undefined)
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"))
    }).on("tlsClientError", () => undefined)
  )

const urlOf = (port: number) => `https://127.0.0.1:${port}/`

describe("a TLS handshake", () => {
  const accepted: ReadonlyArray<readonly [string, Certificate, TlsOptions]> = [
    ["TLS 1.3", "valid", {}],
    ["TLS 1.2 with ECDHE", "valid", { maxVersion: "TLSv1.2" }],
    ["TLS 1.2 with ECDHE and RSA", "rsa", { maxVersion: "TLSv1.2" }],
    ["TLS 1.3 with RSA and P-384", "rsa", { ecdhCurve: "P-384" }]
  ]
  for (const [name, cert, options] of accepted) {
    it.scopedLive(`§4.1 is made by ${name}`, () =>
      Effect.gen(function* () {
        const { send } = yield* dispatcher()
        expect(seen(yield* send(to(urlOf(yield* receiver(cert, options)))))).toEqual({
          httpStatus: 200,
          failureReason: null,
          responseBody: "ok"
        })
      })
    )
  }

  const refused: ReadonlyArray<readonly [string, Certificate, TlsOptions]> = [
    [
      "parameters of DHE",
      "rsa",
      { ciphers: "DHE-RSA-AES128-GCM-SHA256", maxVersion: "TLSv1.2", dhparam: "auto" }
    ],
    ["the key exchange of RSA", "rsa", { ciphers: "AES128-GCM-SHA256", maxVersion: "TLSv1.2" }],
    ["TLS 1.1", "rsa", { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }],
    ["a slow curve", "valid", { ecdhCurve: "P-521" }],
    ["more than 12 KiB of certificates", "large", {}]
  ]
  for (const [name, cert, options] of refused) {
    it.scopedLive(`§4.1 is refused with ${name}`, () =>
      Effect.gen(function* () {
        const { connections, send } = yield* dispatcher()
        expect(seen(yield* send(to(urlOf(yield* receiver(cert, options)))))).toEqual(
          failed("tls_failed", name === "TLS 1.1" ? "tls_version" : "tls_other")
        )
        expect(connections()).toEqual({ open: 0, idle: 0 })
      })
    )
  }

  it.scopedLive("§3.4 of a workspace with too many under way waits for its turn, and delays no other", () =>
    Effect.gen(function* () {
      let connected = 0
      const silent = yield* listening(
        createTcpServer((socket) => {
          connected++
          socket.on("error", () => undefined)
        })
      )
      const good = urlOf(yield* receiver("valid"))
      const { send } = yield* dispatcher()
      const hanging = yield* Effect.fork(
        Effect.all(
          Array.from({ length: HANDSHAKES }, () => send(to(urlOf(silent), "wsp_busy"))),
          { concurrency: "unbounded" }
        )
      )
      yield* until(
        Effect.sync(() => connected),
        (count) => count === HANDSHAKES
      )

      // It dies of `no_turn`: nothing was sent.
      const late = yield* Effect.fork(Effect.sandbox(send(to(good, "wsp_busy"))))
      expect((yield* send(to(good, "wsp_other"))).httpStatus).toBe(200)
      expect(String(yield* Effect.flip(Fiber.join(late)))).toContain("no_turn")

      const waiting = yield* Effect.fork(send(to(good, "wsp_busy")))
      yield* Fiber.interrupt(hanging)
      expect((yield* Fiber.join(waiting)).httpStatus).toBe(200)
    })
  )
})
