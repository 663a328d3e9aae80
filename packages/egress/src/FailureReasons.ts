/**
 * Maps the errors of sockets, TLS and the parser to failure reasons. Source: spec §4.5.
 *
 * A reset or a silent end is `connection_failed`, even in the middle of a TLS handshake. If an answer began and is not valid
 * HTTP, it is `invalid_response`; if none began, `connection_failed`. Details come from codes of this process's own libraries; an
 * error whose code is not listed has none.
 */
import type { FailureDetail } from "@posthorn/domain/Verdict"

import { NoTurn, ResolutionFailed } from "./Names.ts"
import type { NotConnected, TransportFailure } from "./Observation.ts"

/** `reached`: TCP was connected. Any other error before the connection is ready is then an error of TLS. */
export const whileConnecting = (error: NodeJS.ErrnoException, reached: boolean): NotConnected => {
  if (error instanceof NoTurn) return "no_turn"
  if (error instanceof ResolutionFailed) return "dns_failed"
  return reached && !NETWORK_ERRORS.has(error.code ?? "") ? "tls_failed" : "connection_failed"
}

/** `answered`: at least one byte of an answer arrived. */
export const whileWaiting = (error: NodeJS.ErrnoException, answered: boolean): TransportFailure => {
  // In TLS 1.3 a server may refuse a handshake that the client considers finished, for example because it wants a client
  // certificate.
  if (error.code?.startsWith("ERR_SSL_") === true) return "tls_failed"
  return answered || isParserError(error) ? "invalid_response" : "connection_failed"
}

export const isParserError = (error: NodeJS.ErrnoException): boolean =>
  error.code?.startsWith("HPE_") === true || error.code === "UND_ERR_HEADERS_OVERFLOW"

/** Node says ECONNRESET also when a connection ends during the TLS handshake; only a real reset comes from a system call. */
export const detailOf = (
  reason: TransportFailure,
  error: NodeJS.ErrnoException
): FailureDetail | undefined => {
  const { code = "", syscall } = error
  if (reason === "connection_failed")
    return code === "UND_ERR_SOCKET" || (code === "ECONNRESET" && syscall === undefined)
      ? "closed_early"
      : CONNECTION_DETAILS[code]
  if (reason !== "tls_failed") return undefined
  const words = `${code} ${error.message}`
  if (NOT_TLS.test(words)) return "not_tls"
  return TLS_VERSION.test(words) ? "tls_version" : (TLS_DETAILS[code] ?? "tls_other")
}

const CONNECTION_DETAILS: Readonly<Record<string, FailureDetail>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  ECONNABORTED: "reset",
  EPIPE: "reset",
  ETIMEDOUT: "connect_timeout",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable"
}

/** A server that sends only its own certificate, signed by an authority of its own, looks like one that forgets an intermediate. */
const TLS_DETAILS: Readonly<Record<string, FailureDetail>> = {
  CERT_HAS_EXPIRED: "certificate_expired",
  CERT_NOT_YET_VALID: "certificate_not_yet_valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "wrong_host",
  SELF_SIGNED_CERT_IN_CHAIN: "unknown_issuer",
  UNABLE_TO_GET_ISSUER_CERT: "unknown_issuer",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "unknown_issuer",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "incomplete_chain",
  DEPTH_ZERO_SELF_SIGNED_CERT: "self_signed"
}

/** OpenSSL's words about a first record that is none of TLS. */
const NOT_TLS = /wrong.version.number|packet.length.too.long|http.request/i

/** OpenSSL's words about versions that do not meet: its own, and those of a receiver's alert. */
const TLS_VERSION = /unsupported.protocol|alert.protocol.version|version.too.low/i

const NETWORK_ERRORS = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ECONNABORTED"
])
