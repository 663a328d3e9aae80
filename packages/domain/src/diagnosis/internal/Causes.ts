/**
 * Maps each kind of failure to its likely cause and what to do about it.
 *
 * Sentences repeat nothing that a receiver said, except the target of a redirect, and that only as a URL.
 */

import type { FailureDetail } from "../../Verdict.ts"
import type { Evidence, SeenAttempt, SeenChange } from "../DiagnosisEvidence.ts"
import type { Cause } from "./Cause.ts"
import { afterRotation, neverSeen, rotated, unseen } from "./SecretCauses.ts"
import { compare, explain, fixEventTypes, fixRequest, fixUrl, person, tryAuthentication } from "./Steps.ts"
import { type Kind, median } from "./Streak.ts"

/** The facts that a cause is derived from. */
export interface Facts {
  readonly evidence: Evidence
  readonly kind: Kind
  readonly example: SeenAttempt
  /** The preceding change that may explain it. */
  readonly change: SeenChange | undefined
  /** Earlier delivered attempts, newest first. */
  readonly successes: ReadonlyArray<SeenAttempt>
  /** When it began, as far as the evidence goes back. */
  readonly since: string
  /** Whether nothing was ever delivered to the endpoint. */
  readonly never: boolean
}

export const changedUrl = ({ action, fields }: SeenChange) =>
  action === "webhook.endpoint_updated" && fields.includes("url")

const SLOW_SAMPLE = 10

const answered = ({ httpStatus }: SeenAttempt) => `The receiver answers ${httpStatus}`

const sinceUrl = (change: SeenChange | undefined) =>
  change !== undefined && changedUrl(change)
    ? `The URL was changed at ${change.at}, before the first failure.`
    : undefined

const because = (text: string | undefined) => (text === undefined ? {} : { because: text })

const wrongAddress =
  (what: (facts: Facts) => string, remedy: string) =>
  (facts: Facts): Cause => {
    const reason = sinceUrl(facts.change)
    const { id } = facts.evidence.endpoint
    return {
      summary: what(facts) + (reason === undefined ? "." : " since the URL was changed."),
      ...because(reason),
      steps: [
        ...(reason === undefined ? [compare(id, "Compare its URL with the receiver's.")] : []),
        fixUrl(id, remedy)
      ]
    }
  }

/** Statuses by which receivers reject a signature. */
const UNSIGNED: ReadonlySet<number | null> = new Set([400, 401, 403])

const rejected = (facts: Facts): Cause => {
  const { change, evidence, example, never, since } = facts
  const said = answered(example)
  const { id } = evidence.endpoint
  if (never && UNSIGNED.has(example.httpStatus) && neverSeen(evidence)) return unseen(said)
  if (change !== undefined && rotated(change)) {
    const cause = afterRotation(said, change, since, evidence.now)
    return { ...cause, steps: [...cause.steps, explain(id)] }
  }
  const cause = wrongAddress(
    () => `${said}: it does not accept who is sending, or the signature`,
    "If it is the wrong address, correct it."
  )(facts)
  return {
    ...cause,
    steps: [
      explain(id),
      person(
        "Check that the receiver has the endpoint's present secret, and verifies the body as it came, before parsing it."
      ),
      ...cause.steps
    ]
  }
}

const refused = (facts: Facts): Cause =>
  facts.never && UNSIGNED.has(facts.example.httpStatus) && neverSeen(facts.evidence)
    ? unseen(answered(facts.example))
    : facts.change !== undefined && rotated(facts.change)
      ? afterRotation(answered(facts.example), facts.change, facts.since, facts.evidence.now)
      : wrongAddress(
          ({ example }) => `${answered(example)}: it refuses the request`,
          "Look at the answer's body for what it misses; the URL may be that of something else."
        )(facts)

export const inSeconds = (ms: number) => {
  const seconds = Math.round(ms / 100) / 10
  return `${seconds} ${seconds === 1 ? "second" : "seconds"}`
}

const noConnection = (what: (facts: Facts) => string) =>
  wrongAddress(
    what,
    "Correct its host or port, if they are wrong. Else see that the receiver is up and lets Posthorn's addresses in."
  )

const timingOut = (facts: Facts): Cause => {
  const { evidence, example, successes } = facts
  const sample = successes.slice(0, SLOW_SAMPLE).map(({ durationMs }) => durationMs)
  const slow = sample.length >= 3 && median(sample) >= evidence.requestTimeoutMs / 4
  const deadline = `the deadline of ${inSeconds(evidence.requestTimeoutMs)}`
  if (example.failureDetail === "connect_timeout")
    return noConnection(() => `No connection to the receiver is made within ${deadline}`)(facts)
  return {
    summary: slow
      ? `The receiver had become slow, and now does not answer within ${deadline}.`
      : `The receiver does not answer within ${deadline}.`,
    ...because(
      slow
        ? `Half of the ${sample.length} attempts delivered before took ${median(sample)} ms or more.`
        : undefined
    ),
    steps: [
      person(
        "On the receiver's side: answer 2xx at once and do the work afterwards. Nothing here needs to be changed."
      )
    ]
  }
}

/** What certificates fail for, and what whoever runs the receiver does about it. */
const CERTIFICATES: Partial<Record<FailureDetail, readonly [what: string, remedy: string]>> = {
  certificate_expired: ["The receiver's certificate has expired", "Renew it."],
  certificate_not_yet_valid: [
    "The receiver's certificate is not valid yet",
    "Serve one that is valid now, and see that the clocks are right."
  ],
  wrong_host: [
    "The receiver's certificate is for other host names than the URL's",
    "Serve one for the URL's host."
  ],
  unknown_issuer: [
    "No known authority issued the receiver's certificate",
    "Use one of a public authority. The operator can make a private one known by NODE_EXTRA_CA_CERTS."
  ],
  incomplete_chain: [
    "The receiver shows only its own certificate, and no known authority signed that: the intermediate one is missing, or the authority is private",
    "Serve the whole chain (certbot's fullchain.pem). The operator can make a private authority known by NODE_EXTRA_CA_CERTS."
  ],
  self_signed: [
    "The receiver's certificate is signed by itself",
    "Use one of a public authority, such as Let's Encrypt."
  ],
  tls_version: [
    "The receiver speaks none of the versions of TLS that are safe",
    "Let it speak TLS 1.3, or 1.2 with ECDHE."
  ]
}

const tlsFailed = (facts: Facts): Cause => {
  const { failureDetail } = facts.example
  const known = failureDetail === null ? undefined : CERTIFICATES[failureDetail]
  if (known !== undefined) {
    const [what, remedy] = known
    const cause = wrongAddress(() => what, "Or correct the URL, if it is the wrong host.")(facts)
    return { ...cause, steps: [person(`On the receiver's side: ${remedy}`), ...cause.steps] }
  }
  if (failureDetail === "not_tls") {
    const cause = wrongAddress(
      () => "What listens at the URL's port does not speak TLS",
      "Use the port on which it does."
    )(facts)
    return { ...cause, steps: [...cause.steps, person("Or put TLS in front of the receiver.")] }
  }
  const worked = facts.successes[0]
  if (worked === undefined || facts.change !== undefined) {
    const cause = wrongAddress(
      () =>
        "TLS cannot be set up: the receiver's certificate is not valid for this host, or what listens there speaks plain HTTP",
      "Use a host that the receiver's certificate names, and the port on which it speaks TLS."
    )(facts)
    const ask = person(
      "Find out which: `openssl s_client -connect HOST:PORT -servername HOST` shows the certificate, or that there is none. A receiver that speaks plain HTTP needs TLS in front of it."
    )
    return { ...cause, steps: [ask, ...cause.steps] }
  }
  return {
    summary: "The receiver's certificate is no longer accepted: most likely it has expired or was replaced.",
    because: `TLS worked until ${worked.at}, and nothing was changed here since.`,
    steps: [
      person(
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
      ? compare(evidence.endpoint.id, "The URL is accepted again: nothing needs to be changed.")
      : fixUrl(
          evidence.endpoint.id,
          "Give it a URL that may be delivered to, or ask the operator about DELIVERY_ALLOWED_TARGETS."
        )
  ]
})

/** The target of a redirect, as a URL; empty if the receiver gave none, or not a URL. */
const targetOf = ({ location, url }: SeenAttempt): string => {
  if (location === null || !URL.canParse(location, url)) return ""
  const { host, pathname, protocol } = new URL(location, url)
  return /^https?:$/.test(protocol) ? ` to ${protocol}//${host}${pathname}`.slice(0, 260) : ""
}

const receiversSide =
  (what: (example: SeenAttempt) => string, remedy: string) =>
  ({ change, example }: Facts): Cause => ({
    summary: what(example),
    ...because(sinceUrl(change)),
    steps: [person(remedy)]
  })

const unreachable = ({ example: { durationMs, failureDetail } }: Facts): string => {
  switch (failureDetail) {
    case "refused":
      return "The receiver's host refuses connections to this port"
    case "reset":
      return "The receiver resets the connection"
    case "unreachable":
    case "connect_timeout":
      return "The receiver's host cannot be reached"
    case "closed_early":
      return `The receiver closes the connection before it answers, after ${inSeconds(durationMs)}`
    default:
      return "No connection to the receiver can be made"
  }
}

/** One rule for each kind. */
export const causes: Readonly<Record<Kind, (facts: Facts) => Cause>> = {
  rejected,
  timestamp_off: ({ example }) => ({
    summary: `${answered(example)}: it refuses the time in webhook-timestamp. Receivers accept 5 minutes before and after their own.`,
    because: "The answers name the timestamp, or it was minutes away from the time of the record.",
    steps: [
      person(
        "Compare the receiver's clock with the right time, and set it by NTP. The operator sees the workers' own in posthorn_clock_offset_seconds and posthorn doctor."
      ),
      person(
        "If both are right, see that the receiver reads webhook-timestamp as seconds, and verifies when the request arrives, not later from a queue of its own."
      )
    ]
  }),
  not_found: wrongAddress(({ example }) => answered(example), "Correct the path of the URL."),
  refused,
  redirected: wrongAddress(
    ({ example }) => `${answered(example)}, a redirect${targetOf(example)}, and redirects are never followed`,
    "Use the URL that it redirects to, if the user knows it for the receiver's."
  ),
  name_unresolved: wrongAddress(
    () => "The URL's host name does not resolve",
    "Correct the host name, or its DNS."
  ),
  unreachable: noConnection(unreachable),
  not_http: wrongAddress(
    () => "What answers is not HTTP, or gives no usable status",
    "Check the URL's port."
  ),
  tls_failed: tlsFailed,
  timing_out: timingOut,
  url_refused: urlRefused,
  proxy_failed: () => ({
    summary: "The proxy through which Posthorn sends made no connection: the receiver was not asked.",
    because:
      "It could not be reached, refused its credentials, or refused to connect to the URL's host and port.",
    steps: [
      person(
        "Ask the operator to look at the proxy of DELIVERY_PROXY: posthorn doctor says whether it answers. Nothing of the endpoint needs to be changed, and these failures do not count towards disabling it."
      )
    ]
  }),
  authentication_failing: ({ evidence }) => ({
    summary: "Posthorn could not authenticate itself to the receiver, so nothing was sent.",
    because:
      "The token endpoint gave no token, or the client certificate has expired. These failures do not count towards disabling the endpoint.",
    steps: [
      tryAuthentication(evidence.endpoint.id),
      fixRequest(
        evidence.endpoint.id,
        "Put new credentials into its request, if whoever runs the receiver has changed them: the whole request as it is shown, with the new secret."
      )
    ]
  }),
  rate_limited: ({ evidence, example }) => ({
    summary: `${answered(example)}: it is sent more than it takes.`,
    steps: [
      person("Raise the receiver's limit."),
      fixEventTypes(evidence.endpoint.id, "Or subscribe to fewer event types: all that it shall get.")
    ]
  }),
  server_error: receiversSide(
    (example) => `${answered(example)}: it breaks while handling the request.`,
    "On the receiver's side: look at its log for the time of the failures. Nothing here needs to be changed."
  )
}
