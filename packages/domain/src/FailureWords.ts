/** Why an attempt failed, in words that a customer reads: in the console and in `posthorn doctor`. */
import type { FailureDetail, FailureReason } from "./Verdict.ts"

const reasons: Record<Exclude<FailureReason, "http_status">, string> = {
  request_timeout: "The receiver did not answer in time",
  connection_failed: "No connection could be made",
  dns_failed: "The host name could not be resolved",
  tls_failed: "The TLS handshake failed",
  invalid_response: "The answer was not valid HTTP",
  invalid_url: "The URL may not be delivered to",
  proxy_failed: "Posthorn's proxy made no connection",
  auth_failed: "Posthorn could not authenticate itself"
}

const details: Record<FailureDetail, string> = {
  refused: "The connection was refused",
  reset: "The receiver reset the connection",
  unreachable: "The host could not be reached",
  closed_early: "The receiver closed the connection before it answered",
  connect_timeout: "No connection was made in time",
  certificate_expired: "The receiver's certificate has expired",
  certificate_not_yet_valid: "The receiver's certificate is not valid yet",
  wrong_host: "The receiver's certificate is for another host",
  unknown_issuer: "No known authority issued the receiver's certificate",
  incomplete_chain: "The receiver's certificate came without its intermediate one",
  self_signed: "The receiver's certificate is signed by itself",
  tls_version: "The receiver speaks no version of TLS that is safe",
  not_tls: "The receiver does not speak TLS",
  tls_other: "The TLS handshake failed"
}

/** Why it failed, in plain words. */
export const failureInWords = (
  reason: FailureReason | null,
  httpStatus: number | null,
  detail: FailureDetail | null = null
): string => {
  if (detail !== null) return details[detail]
  if (reason !== null && reason !== "http_status") return reasons[reason]
  return httpStatus === null ? "" : `Answered ${httpStatus}`
}
