/**
 * What one HTTP attempt showed. Data, never an error: a receiver that misbehaves is the normal case.
 *
 * - `httpStatus` is the final status, 200 to 599; null when none arrived, and then `failureReason` says why.
 * - `failureReason` says nothing about a status: whether 503 is a failure is the verdict's business.
 * - `responseBody` is valid UTF-8 without NUL, at most 2,048 bytes; null when it could not be read in time.
 * - `responseHeaders` is a JSON object of the headers that `KeptHeaders.ts` keeps; left out when none came.
 *
 * Source: spec §2.3, §4.1 and §3.4.
 */
export interface Observation {
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly failureReason: TransportFailure | null
  readonly responseBody: string | null
  readonly responseHeaders?: string | undefined
}

/** Nothing was sent, as its workspace had too many look-ups of names under way: no observation of the receiver. */
export type NoTurn = "no_turn"

/** Why there is no connection. */
export type NotConnected = TransportFailure | NoTurn

/** Why no status arrived. The words name no address and repeat nothing the receiver said. Source: spec §4.5. */
export type TransportFailure =
  | "request_timeout"
  | "connection_failed"
  | "dns_failed"
  | "tls_failed"
  | "invalid_response"
