/**
 * Opens one TCP or TLS connection to an origin, or gives a failure reason.
 *
 * Guarantees: no connection to an address that `refuses` names, literal or resolved; the certificate is always
 * verified (`rejectUnauthorized` is set here, so NODE_TLS_REJECT_UNAUTHORIZED cannot unset it; NODE_EXTRA_CA_CERTS
 * adds authorities). It has no timer: Exchange.ts keeps the deadline.
 *
 * TLS sessions are kept per origin, and only after the certificate was accepted. Node 20 does not check the name again when it
 * resumes a session (CVE-2026-48934), so a session must never outlive a refusal nor change its origin. A resumed handshake
 * costs half of a full one; a kept-alive connection needs none.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls"
import { whileConnecting } from "./FailureReasons.ts"
import { AddressRefused, type Names, type Refuses } from "./Names.ts"
import type { NotConnected } from "./Observation.ts"
import type { Origin } from "./Origins.ts"

export interface ConnectSettings {
  readonly refuses: Refuses
  readonly names: Names
  readonly secureContext: SecureContext
  /** Milliseconds that only go forward. */
  readonly now: () => number
}

export interface Outcome {
  readonly opened: (socket: Socket) => void
  readonly failed: (reason: NotConnected, error: Error) => void
}

/** TCP keep-alive notices a receiver that vanished while its connection was idle. */
const PROBE_AFTER_MS = 60_000

/**
 * The socket, still connecting, so that the caller can give up on it; null when the address is refused. A name look-up counts
 * against the workspace's limit.
 */
export const connect = (
  origin: Origin,
  workspaceId: string,
  settings: ConnectSettings,
  outcome: Outcome
): Socket | null => {
  if (isIP(origin.host) !== 0 && settings.refuses(origin.host, origin.port, origin.host)) {
    queueMicrotask(() => outcome.failed("connection_failed", new AddressRefused()))
    return null
  }
  const lookup = settings.names.lookup(workspaceId, origin.port)
  const socket = origin.secure ? openTls(origin, lookup, settings.secureContext) : openTcp(origin, lookup)
  socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS)
  let reached = false
  const failed = (error: Error) => outcome.failed(whileConnecting(error, reached), error)
  socket.once("connect", () => {
    reached = true
  })
  socket.once("error", failed)
  socket.once(origin.secure ? "secureConnect" : "connect", () => {
    socket.removeListener("error", failed)
    outcome.opened(socket)
  })
  return socket
}

const openTcp = ({ host, port }: Origin, lookup: LookupFunction): Socket => connectTcp({ host, port, lookup })

const openTls = (origin: Origin, lookup: LookupFunction, secureContext: SecureContext): TLSSocket => {
  const { host, port, session } = origin
  const socket = connectTls({
    host,
    port,
    lookup,
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
    // RFC 6066 allows neither addresses nor a final dot in the server name.
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, "") } : {}),
    ...(session === undefined ? {} : { session })
  })
  let latest: Buffer | undefined
  let accepted = false
  // TLS 1.2 provides its session before the certificate is verified, TLS 1.3 its tickets afterwards.
  socket.on("session", (given: Buffer) => {
    latest = given
    if (accepted) origin.session = given
  })
  socket.once("secureConnect", () => {
    accepted = true
    origin.session = latest ?? origin.session
  })
  return socket
}
