/**
 * TLS over a connection that is open: which versions, ciphers and keys, and what a handshake may cost this process.
 *
 * The certificate is always verified (`rejectUnauthorized` is set here, so NODE_TLS_REJECT_UNAUTHORIZED cannot unset it;
 * NODE_EXTRA_CA_CERTS adds authorities). OpenSSL does it on the event loop, whatever the receiver sends, so the receiver's choice is
 * bounded: TLS 1.3, and 1.2 with ECDHE (parameters of DHE with 8,192 bits cost 0.24 s); signatures of RSA, P-256, P-384 and Ed25519;
 * no renegotiation; and at most `LIMIT_BYTES` until the connection is secure. A chain of 90 certificates on sect571r1, 65 KB, cost
 * 0.3 s, also when no authority signed it. To count bytes they pass through this process once more, 9 us for a request.
 *
 * Handshakes are turns: one workspace's do not follow each other without end while another's wait.
 *
 * TLS sessions are kept per origin, and only after the certificate was accepted. Node 20 does not check the name again when it
 * resumes a session (CVE-2026-48934), so a session must never outlive a refusal nor change its origin. A resumed handshake
 * costs half of a full one; a kept-alive connection needs none.
 */
import { constants } from "node:crypto"
import { isIP, type Socket } from "node:net"
import { Duplex } from "node:stream"
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket
} from "node:tls"
import type { Origin } from "./Origins.ts"

/** Chains of four RSA certificates with 4,096 bits fit; what public authorities issue has 3 to 8 KB. */
export const LIMIT_BYTES = 12 * 1024

/** Handshakes of a workspace at once. */
export const HANDSHAKES = 32
/** How long one waits for its turn. It occupies a slot of the worker meanwhile. */
export const HANDSHAKE_TURN_MS = 1_000

class HandshakeTooLong extends Error {
  override readonly name = "HandshakeTooLong"
}

/** For all connections, with or without a client certificate. */
export const secureContextOf = (options: SecureContextOptions): SecureContext =>
  createSecureContext({
    minVersion: "TLSv1.2",
    ciphers:
      "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!PSK",
    ecdhCurve: "X25519:P-256:P-384",
    sigalgs:
      "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ed25519:rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:rsa_pkcs1_sha256:rsa_pkcs1_sha384:rsa_pkcs1_sha512",
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...options
  })

/** `failed` is called at most once, before it is secure; `secure` at most once. */
export const shakeHands = (
  origin: Origin,
  connected: Socket,
  secureContext: SecureContext,
  secure: (socket: TLSSocket) => void,
  failed: (error: Error) => void
): TLSSocket => {
  const { host, session } = origin
  const counted = new Counted(connected)
  const socket = connectTls({
    socket: counted,
    secureContext: origin.secureContext ?? secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
    // RFC 6066 allows neither addresses nor a final dot in the server name.
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, "") } : { host }),
    ...(session === undefined ? {} : { session })
  })
  let latest: Buffer | undefined
  let accepted = false
  // TLS 1.2 provides its session before the certificate is verified, TLS 1.3 its tickets afterwards.
  socket.on("session", (given: Buffer) => {
    latest = given
    if (accepted) origin.session = given
  })
  socket.once("error", failed)
  socket.once("secureConnect", () => {
    accepted = true
    counted.isSecure = true
    origin.session = latest ?? origin.session
    socket.removeListener("error", failed)
    secure(socket)
  })
  return socket
}

/** The bytes of a connection, counted until it is secure. */
class Counted extends Duplex {
  isSecure = false
  private received = 0
  private readonly socket: Socket

  constructor(socket: Socket) {
    super()
    this.socket = socket
    socket.on("data", (chunk: Buffer) => {
      this.received += chunk.length
      if (!this.isSecure && this.received > LIMIT_BYTES) this.destroy(new HandshakeTooLong())
      else if (!this.push(chunk)) socket.pause()
    })
    socket.once("end", () => this.push(null))
    socket.once("error", (error) => this.destroy(error))
    socket.once("close", () => this.destroy())
  }

  override _read(): void {
    this.socket.resume()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, done)
  }

  override _final(done: () => void): void {
    this.socket.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy()
    done(error)
  }
}
