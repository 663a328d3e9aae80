/**
 * Opens one TCP or TLS connection to an origin, directly or through the proxy, or gives a failure reason.
 *
 * Guarantees: no connection to an address that `refuses` names, literal or resolved. A proxy resolves names by itself, so with one
 * only literal addresses are checked. The certificate is always verified (`rejectUnauthorized` is set here, so
 * NODE_TLS_REJECT_UNAUTHORIZED cannot unset it; NODE_EXTRA_CA_CERTS adds authorities). It has no timer: Exchange.ts keeps the
 * deadline.
 *
 * TLS sessions are kept per origin, and only after the certificate was accepted. Node 20 does not check the name again when it
 * resumes a session (CVE-2026-48934), so a session must never outlive a refusal nor change its origin. A resumed handshake
 * costs half of a full one; a kept-alive connection needs none.
 */
import { isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls"
import type { AddressRace } from "./AddressRace.ts"
import { whileConnecting } from "./FailureReasons.ts"
import { AddressRefused, type Names, type Refuses } from "./Names.ts"
import type { Origin } from "./Origins.ts"
import type { Opening, Outcome, Tunnels } from "./Tunnels.ts"

export interface ConnectSettings {
  readonly refuses: Refuses
  readonly names: Names
  readonly race: AddressRace
  readonly secureContext: SecureContext
  /** Null without a proxy. */
  readonly tunnels: Tunnels | null
  /** Milliseconds that only go forward. */
  readonly now: () => number
}

/** TCP keep-alive notices a receiver that vanished while its connection was idle. */
const PROBE_AFTER_MS = 60_000

/** Opens it. A name look-up counts against the workspace's limit; a proxy looks names up by itself. */
export const connect = (
  origin: Origin,
  workspaceId: string,
  settings: ConnectSettings,
  outcome: Outcome
): Opening => {
  const { host, port } = origin
  if (isIP(host) !== 0 && settings.refuses(host, port, host)) {
    queueMicrotask(() => outcome.failed("connection_failed", new AddressRefused()))
    return { destroy: () => undefined, late: () => "request_timeout" }
  }
  return settings.tunnels === null
    ? direct(origin, settings.names.lookup(workspaceId, port), settings, outcome)
    : tunnelled(origin, settings.tunnels, settings, outcome)
}

const direct = (
  origin: Origin,
  lookup: LookupFunction,
  { race, secureContext }: ConnectSettings,
  outcome: Outcome
): Opening => {
  const { host, port } = origin
  const racing = race.connect(
    { host, port, lookup },
    {
      failed: (error) => outcome.failed(whileConnecting(error, false), error),
      connected: (socket) => reached(socket, origin, secureContext, outcome)
    }
  )
  return { destroy: racing.destroy, late: () => "request_timeout" }
}

const tunnelled = (
  origin: Origin,
  tunnels: Tunnels,
  { secureContext }: ConnectSettings,
  outcome: Outcome
): Opening =>
  tunnels.open(origin, {
    failed: outcome.failed,
    opened: (socket) => reached(socket, origin, secureContext, outcome)
  })

/** TCP is connected; with TLS the connection is ready after the handshake. */
const reached = (tcp: Socket, origin: Origin, secureContext: SecureContext, outcome: Outcome): void => {
  if (!origin.secure) {
    ready(tcp, outcome)
    return
  }
  const socket = openTls(origin, tcp, secureContext)
  const failed = (error: Error) => outcome.failed(whileConnecting(error, true), error)
  socket.once("error", failed)
  socket.once("secureConnect", () => {
    socket.removeListener("error", failed)
    ready(socket, outcome)
  })
}

const ready = (socket: Socket, { opened }: Outcome): void => {
  socket.setKeepAlive(true, PROBE_AFTER_MS)
  opened(socket)
}

const openTls = (origin: Origin, tcp: Socket, secureContext: SecureContext): TLSSocket => {
  const { host, session } = origin
  const socket = connectTls({
    socket: tcp,
    secureContext: origin.secureContext ?? secureContext,
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
