/**
 * From a kind of failure to what is likely wrong and what to do about it.
 *
 * Sentences name no address and repeat nothing a receiver said.
 */
import type { Evidence, SeenAttempt, SeenChange } from "../DiagnosisEvidence.ts"
import { type NextStep, readEndpoint, rotate, update } from "./Steps.ts"
import { type Kind, median } from "./Streak.ts"

/** What a cause is judged from. */
export interface Facts {
  readonly evidence: Evidence
  readonly kind: Kind
  readonly example: SeenAttempt
  /** The change that came before and may explain it. */
  readonly change: SeenChange | undefined
  /** Delivered attempts before, newest first. */
  readonly successes: ReadonlyArray<SeenAttempt>
}

export interface Cause {
  readonly summary: string
  /** What in the evidence speaks for it; undefined when only the kind of failure does. */
  readonly because?: string
  readonly steps: ReadonlyArray<NextStep>
}

export const changedUrl = ({ action, fields }: SeenChange) =>
  action === "webhook.endpoint_updated" && fields.includes("url")
export const rotated = ({ action }: SeenChange) => action === "webhook.secret_rotated"

const SLOW_MS = 2_500
const SLOW_SAMPLE = 10

const answered = ({ httpStatus }: SeenAttempt) => `The receiver answers ${httpStatus}`

const fixUrl = ({ endpoint }: Evidence, why: string) => update({ endpointId: endpoint.id }, why, "url")

const sinceUrl = (change: SeenChange | undefined) =>
  change !== undefined && changedUrl(change)
    ? `The URL was changed at ${change.at}, before the first failure.`
    : undefined

const because = (text: string | undefined) => (text === undefined ? {} : { because: text })

const wrongAddress =
  (what: (facts: Facts) => string, remedy: string) =>
  (facts: Facts): Cause => {
    const reason = sinceUrl(facts.change)
    const steps =
      reason === undefined
        ? [
            readEndpoint(
              { endpointId: facts.evidence.endpoint.id },
              `Compare its URL with the receiver's. ${remedy}`
            )
          ]
        : []
    return {
      summary: what(facts) + (reason === undefined ? "." : " since the URL was changed."),
      ...because(reason),
      steps: [...steps, fixUrl(facts.evidence, remedy)]
    }
  }

const rejected = (facts: Facts): Cause => {
  const { change, evidence, example } = facts
  if (change === undefined || !rotated(change)) {
    return wrongAddress(
      () => `${answered(example)}: it does not accept who is sending, or the signature`,
      "If the receiver verifies signatures, check that it has the present secret and verifies the raw body."
    )(facts)
  }
  return {
    summary: `${answered(example)} since the signing secret was rotated: it verifies with another secret.`,
    because: `The secret was rotated at ${change.at}, and nothing was rejected before. A receiver that checks every entry of webhook-signature accepts both secrets for 24 hours.`,
    steps: [
      rotate(
        { endpointId: evidence.endpoint.id },
        "Give the receiver the secret that the rotation showed. Only if it is lost, rotate again, which drops the oldest secret at once."
      )
    ]
  }
}

const timingOut = ({ evidence, successes }: Facts): Cause => {
  const sample = successes.slice(0, SLOW_SAMPLE).map(({ durationMs }) => durationMs)
  const slow = sample.length >= 3 && median(sample) >= SLOW_MS
  return {
    summary: slow
      ? "The receiver had become slow, and now does not answer within the deadline of 10 seconds."
      : "The receiver does not answer within the deadline of 10 seconds.",
    ...because(
      slow
        ? `Half of the ${sample.length} attempts delivered before took ${median(sample)} ms or more.`
        : undefined
    ),
    steps: [
      readEndpoint(
        { endpointId: evidence.endpoint.id },
        "On the receiver's side: answer 2xx at once and do the work afterwards. Nothing here needs to be changed."
      )
    ]
  }
}

const tlsFailed = (facts: Facts): Cause => {
  const worked = facts.successes[0]
  const cause = wrongAddress(
    () => "The TLS handshake fails: the receiver's certificate is not valid for this URL",
    "Use a host that the receiver's certificate names."
  )(facts)
  if (worked === undefined || facts.change !== undefined) return cause
  return {
    summary: "The receiver's certificate is no longer accepted: most likely it has expired or was replaced.",
    because: `TLS worked until ${worked.at}, and nothing was changed here since.`,
    steps: [
      readEndpoint(
        { endpointId: facts.evidence.endpoint.id },
        "On the receiver's side: renew the certificate for the URL's host and serve its whole chain. Nothing here needs to be changed."
      )
    ]
  }
}

const urlRefused = ({ evidence }: Facts): Cause => ({
  summary: "The endpoint's URL is refused before anything is sent.",
  because:
    evidence.endpoint.urlRefusal ??
    "Every attempt was refused at dispatch, but the URL would be accepted now: the rules for URLs have changed since.",
  steps: [
    evidence.endpoint.urlRefusal === null
      ? readEndpoint(
          { endpointId: evidence.endpoint.id },
          "The URL is accepted again: nothing needs to be changed."
        )
      : fixUrl(
          evidence,
          "Give it a URL that may be delivered to, or ask the operator about DELIVERY_ALLOWED_TARGETS."
        )
  ]
})

const receiversSide =
  (what: (example: SeenAttempt) => string, remedy: string) =>
  ({ change, evidence, example }: Facts): Cause => ({
    summary: what(example),
    ...because(sinceUrl(change)),
    steps: [readEndpoint({ endpointId: evidence.endpoint.id }, remedy)]
  })

/** One rule for each kind. */
export const causes: Readonly<Record<Kind, (facts: Facts) => Cause>> = {
  rejected,
  not_found: wrongAddress(({ example }) => answered(example), "Correct the path of the URL."),
  refused: wrongAddress(
    ({ example }) => `${answered(example)}: it refuses the request`,
    "Look at the answer's body for what it misses; the URL may be that of something else."
  ),
  redirected: wrongAddress(
    ({ example }) => `${answered(example)}, a redirect, and redirects are never followed`,
    "Use the URL that it redirects to."
  ),
  name_unresolved: wrongAddress(
    () => "The URL's host name does not resolve",
    "Correct the host name, or its DNS."
  ),
  unreachable: wrongAddress(
    () => "No connection to the receiver can be made",
    "Check that the receiver is up and lets Posthorn's addresses in."
  ),
  not_http: wrongAddress(
    () => "What answers is not HTTP, or gives no usable status",
    "Check the URL's port."
  ),
  tls_failed: tlsFailed,
  timing_out: timingOut,
  url_refused: urlRefused,
  rate_limited: ({ evidence, example }) => ({
    summary: `${answered(example)}: it is sent more than it takes.`,
    steps: [
      update(
        { endpointId: evidence.endpoint.id },
        "Raise the receiver's limit, or subscribe to fewer event types.",
        "eventTypes"
      )
    ]
  }),
  server_error: receiversSide(
    (example) => `${answered(example)}: it breaks while handling the request.`,
    "On the receiver's side: look at its log for the time of the failures. Nothing here needs to be changed."
  )
}
