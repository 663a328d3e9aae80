/**
 * Maps the errors of sockets, TLS and the parser to failure reasons. Source: spec §4.5.
 *
 * A reset or a silent end is `connection_failed`, even in the middle of a TLS handshake. If an answer began and is not valid
 * HTTP, it is `invalid_response`; if none began, `connection_failed`.
 */

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

const NETWORK_ERRORS = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ECONNABORTED"
])
