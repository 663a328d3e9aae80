/** What failed before the failures that are judged: in another way, or before a change of url, secret or request. */
import type { SeenAttempt, SeenChange } from "../DiagnosisEvidence.ts"
import { rotated } from "./SecretCauses.ts"
import { dominant, type Kind } from "./Streak.ts"

const answered = ({ httpStatus }: SeenAttempt) => `the receiver answered ${httpStatus}`

const PAST: Readonly<Record<Kind, (example: SeenAttempt) => string>> = {
  rejected: answered,
  refused: answered,
  not_found: answered,
  redirected: answered,
  rate_limited: answered,
  server_error: answered,
  timestamp_off: answered,
  timing_out: () => "the receiver did not answer in time",
  unreachable: () => "no connection could be made",
  name_unresolved: () => "the host name did not resolve",
  tls_failed: () => "TLS could not be set up",
  not_http: () => "what answered was not HTTP",
  url_refused: () => "the URL was refused",
  proxy_failed: () => "the proxy failed",
  authentication_failing: () => "Posthorn could not authenticate itself"
}

export const whatChanged = (change: SeenChange) =>
  rotated(change)
    ? "the signing secret was rotated"
    : `its ${change.fields.includes("url") ? "URL" : "request"} was changed`

/** For example "Until …: no connection could be made (30 attempts)." */
export const historyOf = (earlier: ReadonlyArray<SeenAttempt>): string => {
  const { example, kind, share } = dominant(earlier)
  const count = `${earlier.length} ${earlier.length === 1 ? "attempt" : "attempts"}`
  return `Until ${earlier[0]!.at}: ${share < 1 ? "mostly, " : ""}${PAST[kind](example)} (${count}).`
}
