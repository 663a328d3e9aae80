/**
 * What was observed of one HTTP attempt. It is data, never an error: a misbehaving receiver is the normal case.
 *
 * - `httpStatus` is the final status, 200 to 599; null when none arrived, and then `failureReason` says why.
 * - `failureReason` says nothing about a status: the verdict decides whether 503 is a failure.
 * - `failureDetail` says more of a connection or handshake that failed, from a closed list, where that is known.
 * - `responseBody` is valid UTF-8 without NUL, at most 2,048 bytes; null when it could not be read in time.
 * - `responseHeaders` is a JSON object of the headers that `KeptHeaders.ts` keeps; left out when none came.
 *
 * Source: spec §2.3, §4.1 and §3.4.
 */
import type * as Verdict from "@posthorn/domain/Verdict"

export interface Observation extends Verdict.Observation {
  readonly failureReason: TransportFailure | null
}

/** Nothing was sent: its workspace had too many name look-ups under way. This says nothing about the receiver. */
export type NoTurn = "no_turn"

/** The reason why there is no connection. */
export type NotConnected = TransportFailure | NoTurn

/** The reason why no status arrived. The words contain no address and nothing that the receiver said. Source: spec §4.5. */
export type TransportFailure = Exclude<Verdict.FailureReason, "http_status" | "invalid_url" | "auth_failed">
