/**
 * Why no status arrived, in our words. Source: spec §4.5.
 *
 * Resets and silent ends are the network's doing, also in the middle of a TLS handshake. An answer that began and did
 * not become one is invalid; where none began, the connection failed.
 */

import { NoTurn, ResolutionFailed } from "./Names.ts"
import type { NotConnected, TransportFailure } from "./Observation.ts"

/** `reached` is whether TCP was connected: what then goes wrong before the connection is ready, goes wrong in TLS. */
export const whileConnecting = (error: NodeJS.ErrnoException, reached: boolean): NotConnected => {
  if (error instanceof NoTurn) return "no_turn"
  if (error instanceof ResolutionFailed) return "dns_failed"
  return reached && !NETWORK_ERRORS.has(error.code ?? "") ? "tls_failed" : "connection_failed"
}

/** `answered` is whether any byte of an answer came. */
export const whileWaiting = (error: NodeJS.ErrnoException, answered: boolean): TransportFailure => {
  // TLS 1.3 lets a server refuse a handshake that the client took for finished, e.g. for want of a certificate of ours.
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
