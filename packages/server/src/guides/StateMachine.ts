/**
 * The delivery state machine in words and tables, for agents and for docs/state-machine.md, which is this text.
 *
 * The tables are computed with `judge` and its constants, so they always agree with the worker.
 * Source: spec §3.1, §3.2 and §3.4.
 */

import { FAILURE_LIMIT, MAX_RETRIES, retryUnits } from "@posthorn/domain/DeliveryPolicy"
import { LONGEST_PAUSE_UNITS, leastUnitsTo, PROBES_AFTER, pauseUnits } from "@posthorn/domain/Probing"
import { type FailureReason, MAX_CLAIMS, type Observation, outcomeOf } from "@posthorn/domain/Verdict"
import { Struct } from "effect"

const RETRY_DELAY_SECONDS = 30

const seen = (
  httpStatus: number | null,
  failureReason: Observation["failureReason"] = null
): Observation => ({
  httpStatus,
  failureReason,
  durationMs: 1,
  responseBody: null
})

const withoutStatus: Readonly<Record<Exclude<FailureReason, "http_status">, string>> = {
  request_timeout: "no answer within 10 s",
  connection_failed: "no connection",
  dns_failed: "the name does not resolve",
  tls_failed: "TLS fails, e.g. an expired certificate",
  invalid_response: "an answer that is not HTTP, or a status outside 200 to 599",
  invalid_url: "the URL is refused at dispatch; nothing is sent",
  proxy_failed: "the proxy (`DELIVERY_PROXY`) fails; the receiver is not asked",
  auth_failed: "authenticating fails (no token, an expired client certificate); nothing is sent"
}

const observations: ReadonlyArray<readonly [string, Observation]> = [
  ["2xx", seen(200)],
  ["3xx (redirects are never followed)", seen(307)],
  ["408", seen(408)],
  ["429 (`Retry-After` is ignored unless the policy honors it)", seen(429)],
  ["any other 4xx", seen(404)],
  ["5xx", seen(503)],
  ...Struct.entries(withoutStatus).map(([reason, what]) => [what, seen(null, reason)] as const)
]

const verdictRow = ([what, observation]: (typeof observations)[number]) => {
  const { failureReason, status } = outcomeOf(observation)
  return `| ${what} | \`${status}\` | ${failureReason === null ? "" : `\`${failureReason}\``} | ${status === "failed" ? "yes" : "no"} |`
}

const ordinals = Array.from({ length: MAX_RETRIES }, (_, index) => index + 1)
const waits = ordinals.map((ordinal) => retryUnits(ordinal) * RETRY_DELAY_SECONDS)
const total = waits.reduce((sum, wait) => sum + wait, 0)
const last = MAX_RETRIES + 1
const pauseSeconds = (failures: number) => pauseUnits(failures) * RETRY_DELAY_SECONDS
const LONGEST_PAUSE = LONGEST_PAUSE_UNITS * RETRY_DELAY_SECONDS
const firstPauses = [0, 1, 2].map((n) => pauseSeconds(PROBES_AFTER + n))
/** With as many in flight as one endpoint has by default. */
const LEAST_MINUTES = (leastUnitsTo(FAILURE_LIMIT, 10) * RETRY_DELAY_SECONDS) / 60

export const stateMachineText = `# The delivery state machine

A delivery is one event on its way to one endpoint. Its \`id\` is the \`webhook-id\` header, the same on every retry. The figures below
hold where the endpoint's \`policy\` does not say otherwise: \`effectivePolicy\` shows what applies. Its \`request\` may change headers,
body and signatures of what is sent, and nothing here.

\`\`\`
publish, test send, replay, resend                                   ->  pending
pending or failed   2xx                                              ->  delivered
pending or failed   another 4xx, or the URL is refused               ->  failed_permanent
pending or failed   5xx, 408, 429, 3xx, timeout, no usable answer    ->  failed
failed              the last retry fails like that too               ->  dead_lettered
\`\`\`

| status | meaning | ends here | can be replayed | can be resent |
|---|---|---|---|---|
| \`pending\` | waiting for its first attempt | no | no | no |
| \`delivered\` | the receiver answered 2xx | yes | no | yes |
| \`failed\` | the last attempt failed; \`nextAttemptAt\` says when the next one is due | no | yes | no |
| \`failed_permanent\` | the receiver refused it, or the URL is refused; it is not tried again | yes | yes | yes |
| \`dead_lettered\` | every retry failed; the workspace has a notification | yes | yes | yes |

## What one attempt means

| what was seen | attempt | \`failureReason\` | tried again |
|---|---|---|---|
${observations.map(verdictRow).join("\n")}

The status alone decides; the body never does. Every attempt is kept as it was: see \`list_webhook_delivery_attempts\`.

## Retries

There are ${last} attempts at most: the first, and ${MAX_RETRIES} retries, ${waits.join(", ")} seconds after the failure
before them. A receiver that is away for more than about ${(total / 60).toFixed(1)} minutes therefore loses deliveries to \`dead_lettered\`;
replay them when it is back. A delivery that was claimed ${MAX_CLAIMS} times in a row without anything being recorded, because the
worker died each time, is dead-lettered too.

## The endpoint's failure streak

Every recorded attempt that is not \`delivered\` adds one to \`consecutiveFailures\`, also across deliveries; one that is
\`delivered\` sets it to zero. \`proxy_failed\` and \`auth_failed\` change nothing: they say nothing about the receiver. At ${FAILURE_LIMIT} in a row the endpoint is disabled (\`disabledReason\` \`consecutive_failures\`).

After ${PROBES_AFTER} in a row the endpoint is probed: one attempt at a time, with a pause before each of ${firstPauses.join(", then ")}
and from then on ${LONGEST_PAUSE} seconds. The first attempt that is \`delivered\` ends that at once. So ${FAILURE_LIMIT} in a row take at
least ${LEAST_MINUTES} minutes, and a receiver that restarts is not disabled by what waited for it; \`nextAttemptAt\` is the earliest
time of an attempt, not a promise. A test send does not wait for a pause. Changing the endpoint's \`url\`, \`policy\` or \`request\`, or
enabling it, makes the next probe due at once.

A disabled endpoint is sent nothing: waiting deliveries wait, new events make no delivery for it (they are counted in
\`missedEvents\`), replay, resend and test send are refused with 409. Enabling it (\`update_webhook_endpoint\` with \`enabled: true\`)
sets the streak to zero and lets waiting deliveries go on.

## Replay and resend

A replay is a new delivery with a new id, \`attempts\` 0, the same event type and payload, and \`replayedFrom\` set; the
source stays as it was. Only \`failed\`, \`failed_permanent\` and \`dead_lettered\` deliveries of an enabled endpoint can be
replayed. A resend is the same for \`delivered\`, \`failed_permanent\` and \`dead_lettered\` ones: what was accepted is sent
again. Receivers may see the same event again under a new id.

## Signing secrets

Rotation makes a new secret, also in the place of one that was taken over (\`signingSecret\` at creation). For 24 hours each delivery carries two signatures, the new secret's first; afterwards one.
Rotating again within that time drops the oldest secret at once.
`
