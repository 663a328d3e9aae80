/** Client certificates: what is wrong with one, and who is shown which. */
import { generateKeyPairSync, type KeyPairKeyObjectResult, X509Certificate } from "node:crypto"
import { createServer } from "node:tls"
import { describe, expect, it } from "@effect/vitest"
import { type Certificate, certificate } from "@posthorn/testkit/Certificates"
import { Effect, Redacted } from "effect"
import { flawOf, identityOf, isValidAt, validityOf } from "../src/ClientCertificate.ts"
import { dispatcher, to } from "./Sending.ts"

const pairOf = (name: Certificate, key: Certificate = name) => ({
  certificate: certificate(name).cert,
  privateKey: Redacted.make(certificate(key).key)
})

const clientOf = (name: Certificate) => ({ ...pairOf(name), id: identityOf(pairOf(name)) })

const fingerprintOf = (name: Certificate) => new X509Certificate(certificate(name).cert).fingerprint256

/** A TLS receiver that writes down whose certificate each connection showed. */
const receiver = Effect.acquireRelease(
  Effect.async<{ readonly url: string; readonly shown: ReadonlyArray<string>; readonly close: () => void }>(
    (resume) => {
      const shown: Array<string> = []
      const { cert, key } = certificate("valid")
      const server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false }, (socket) => {
        shown.push(socket.getPeerCertificate().fingerprint256 ?? "none")
        socket.on("error", () => undefined)
        socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { port: number }
        resume(Effect.succeed({ url: `https://127.0.0.1:${port}/`, shown, close: () => server.close() }))
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

describe("a client certificate", () => {
  it.scopedLive("§2.9 is shown by those that have it, on connections and in sessions of their own", () =>
    Effect.gen(function* () {
      const { shown, url } = yield* receiver
      const { connections, send } = yield* dispatcher({ connectionsPerOrigin: 1 })
      const clients = [clientOf("self-signed"), clientOf("other-name"), undefined, clientOf("self-signed")]
      for (const client of clients) expect((yield* send({ ...to(url), client })).httpStatus).toBe(200)

      expect(shown).toEqual([fingerprintOf("self-signed"), fingerprintOf("other-name"), "none"])
      expect(connections()).toEqual({ open: 3, idle: 3 })
    })
  )

  it("§2.9 and its key are checked when they are set", () => {
    expect(flawOf(pairOf("valid"))).toBe(null)
    expect(flawOf(pairOf("expired"))).toBe(null)
    expect(flawOf(pairOf("valid", "other-ca"))).toBe("pair")
    const { privateKey } = pairOf("valid")
    const { cert, key } = certificate("valid")
    const body = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
    for (const bad of ["", "PEM", body, key, `${cert}\n${body}`])
      expect(flawOf({ certificate: bad, privateKey })).toBe("certificate")
    for (const bad of ["", cert, key.replace(/\n[^-\n]{8}/, "\nAAAAAAAA")])
      expect(flawOf({ certificate: cert, privateKey: Redacted.make(bad) })).toBe("privateKey")
    expect(flawOf({ certificate: `${cert}\n${certificate("other-name").cert}`, privateKey })).toBe(null)
  })

  it("§2.9 has a key that signs quickly, and a short chain", () => {
    const privateKeyOf = ({ privateKey }: KeyPairKeyObjectResult) =>
      Redacted.make(privateKey.export({ type: "pkcs8", format: "pem" }).toString())
    const { cert } = certificate("valid")
    const flawWith = (pair: KeyPairKeyObjectResult) =>
      flawOf({ certificate: cert, privateKey: privateKeyOf(pair) })
    for (const good of [
      generateKeyPairSync("rsa", { modulusLength: 2_048 }),
      generateKeyPairSync("ec", { namedCurve: "P-384" }),
      generateKeyPairSync("ed25519")
    ])
      expect(flawWith(good)).toBe("pair")
    for (const slow of [
      generateKeyPairSync("rsa", { modulusLength: 4_104 }),
      generateKeyPairSync("ec", { namedCurve: "P-521" }),
      generateKeyPairSync("ec", { namedCurve: "sect571r1" }),
      generateKeyPairSync("ed448")
    ])
      expect(flawWith(slow)).toBe("privateKey")

    const { privateKey } = pairOf("valid")
    expect(flawOf({ certificate: cert.repeat(5), privateKey })).toBe(null)
    expect(flawOf({ certificate: cert.repeat(6), privateKey })).toBe("certificate")
    expect(flawOf(pairOf("large"))).toBe("certificate")
  })

  it("§2.9 is valid from its first moment to its last", () => {
    const validity = validityOf(certificate("expired").cert)!
    expect(validity).toEqual({ from: Date.UTC(2020, 0, 1), to: Date.UTC(2020, 0, 2) })
    const moments = [validity.from - 1, validity.from, validity.to - 1, validity.to]
    expect(moments.map((at) => isValidAt(validity, at))).toEqual([false, true, true, false])
    expect(validityOf("PEM")).toBe(null)
  })
})
