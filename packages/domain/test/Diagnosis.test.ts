/**
 * What an endpoint's evidence means. Attempts are written `3*ok 2*500`: three that were delivered, then two answered 500.
 */
import { describe, expect, it } from "vitest"
import { diagnose, everyStep } from "../src/diagnosis/Diagnosis.ts"
import type { Evidence, SeenAttempt, SeenChange } from "../src/diagnosis/DiagnosisEvidence.ts"
import type { Finding } from "../src/diagnosis/Finding.ts"
import { JsonText } from "../src/JsonText.ts"
import { type FailureReason, isUncounted } from "../src/Verdict.ts"

const START = Date.parse("2026-11-20T12:00:00.000Z")
const at = (minutes: number) => new Date(START + minutes * 60_000).toISOString()

/** `ok`, `7000ms` for a delivered attempt of that duration, a status, or a failure reason. */
const attemptOf = (seen: string, index: number): SeenAttempt => {
  const ms = /^(\d+)ms$/.exec(seen)?.[1]
  const isOk = seen === "ok" || ms !== undefined
  const answered = isOk ? 200 : Number(seen)
  const httpStatus = Number.isNaN(answered) ? null : answered
  const permanent = /^4(?!08|29)\d\d$/.test(seen) || seen === "invalid_url"
  return {
    deliveryId: `whd_${index}`,
    eventType: "invoice.paid",
    at: at(index),
    status: isOk ? "delivered" : permanent ? "failed_permanent" : "failed",
    durationMs: Number(ms ?? 20),
    httpStatus,
    failureReason: isOk ? null : httpStatus === null ? (seen as FailureReason) : "http_status",
    failureDetail: null,
    url: "https://example.com/hooks",
    location: null,
    retryAfter: null,
    timestampOff: false
  }
}

const attemptsOf = (seen: string): ReadonlyArray<SeenAttempt> =>
  (seen === "" ? [] : seen.split(" "))
    .flatMap((part) => {
      const [group, count] = part.split("*").reverse() as [string, string?]
      return Array.from({ length: Number(count ?? 1) }, () => group.split(",")).flat()
    })
    .map(attemptOf)

const change = (minutes: number, action: string, ...fields: ReadonlyArray<string>): SeenChange => ({
  auditEventId: `aud_${minutes}`,
  action: `webhook.${action}`,
  fields,
  at: at(minutes),
  via: "rest"
})
const moved = (minutes: number) => change(minutes, "endpoint_updated", "url")
const rotated = (minutes: number) => change(minutes, "secret_rotated", "signingSecret")
const resubscribed = change(8, "endpoint_updated", "eventTypes")
const stopping = change(7, "endpoint_updated", "enabled")

const noneStopped: Evidence["stopped"] = {
  count: 0,
  since: null,
  newestId: null,
  neverSent: 0,
  more: false,
  recovered: 0
}
const noneMissed: Evidence["missedEvents"] = { count: 0, more: false, since: null }

interface More extends Partial<Omit<Evidence, "endpoint">> {
  readonly endpoint?: Partial<Evidence["endpoint"]>
  /** What all failed attempts have in common. */
  readonly failed?: Partial<SeenAttempt>
}

/** Attempts oldest first, one a minute, and other evidence. */
const record = (seen: string, { changes = [], endpoint = {}, failed = {}, ...rest }: More = {}): Evidence => {
  const attempts = attemptsOf(seen)
  const lastSuccess = attempts.findLastIndex(({ status }) => status === "delivered")
  const failures = attempts.slice(lastSuccess + 1).filter(({ failureReason }) => !isUncounted(failureReason))
  return {
    now: at(attempts.length + 1),
    endpoint: {
      id: "whe_1",
      enabled: true,
      disabledReason: null,
      disabledAt: null,
      createdAt: at(-100_000),
      consecutiveFailures: failures.length,
      eventTypes: ["*"],
      urlRefusal: null,
      honorsRetryAfter: false,
      certificateExpiresAt: null,
      secretReadable: true,
      ...endpoint
    },
    requestTimeoutMs: 10_000,
    retryDelayMs: 30_000,
    filtered: null,
    published: ["invoice.paid"],
    olderChanges: false,
    attempts: attempts.map((one) => (one.status === "delivered" ? one : { ...one, ...failed })).reverse(),
    olderAttempts: false,
    changes: [
      change(-100_000, "endpoint_created", "url", "eventTypes", "description", "enabled"),
      ...changes
    ].reverse(),
    waiting: { count: 0, oldestDueAt: null },
    backlog: null,
    stopped: noneStopped,
    missedEvents: noneMissed,
    ...rest
  }
}

const first = (evidence: Evidence): Finding => diagnose(evidence).findings[0]!
/** Null for a step that a person takes. */
const operations = ({ nextSteps }: Finding) => nextSteps.map(({ operation }) => operation)
const people = ({ nextSteps }: Finding) =>
  nextSteps.filter(({ operation }) => operation === null).map(({ why }) => why)

const lost: More = {
  stopped: { ...noneStopped, count: 2, since: at(6), newestId: "whd_25" },
  missedEvents: { count: 7, more: false, since: at(27) }
}
const refusal = "The URL points at a private or reserved address."

/** Health, then the first finding without its texts: `failing: tls_failed high, 12 in a row since 10, of 21 20 19`. */
const told = ({ findings, health }: ReturnType<typeof diagnose>) => {
  const { changedBefore, confidence, deliveryIds, httpStatus, inARow, since } = findings[0]!
  const minute = since === null ? "never" : (Date.parse(since) - START) / 60_000
  const status = httpStatus === null ? "" : ` ${httpStatus}`
  const changed = changedBefore === null ? "" : `, after ${changedBefore.auditEventId}`
  const ids = deliveryIds.map((id) => id.slice(4)).join(" ")
  const codes = findings.map(({ code }) => code).join("+")
  return `${health}: ${codes}${status} ${confidence}, ${inARow} in a row since ${minute}${changed}, of ${ids}`
    .replace(/, of $/, "")
    .replace(", 0 in a row since never", "")
}

/**
 * What happened, the attempts, and the finding; each attempt belongs to the delivery of its minute. Indented: text that the
 * summary, its reason or a person's step must contain. `!`: text that the summary must not contain. `+` and `-`: an
 * operation that is offered, or not.
 */
const TABLE = `
an expired certificate, which worked until a moment | 10*ok 12*tls_failed | failing: tls_failed high, 12 in a row since 10, of 21 20 19
    most likely it has expired
    2026-11-20T12:09:00.000Z
TLS that never worked: a bad certificate, or plain HTTP | 4*tls_failed | failing: tls_failed medium, 4 in a row since 0, of 3 2 1
    certificate is not valid for this host, or what listens there speaks plain HTTP
    TLS in front of it
all failures of one delivery: less sure | 6*ok 7*500 | failing: server_error 500 medium, 7 in a row since 6, of one
    All 7 failures are attempts of one delivery; nothing else was sent since.
404 without a change | 6*ok 4*404 | failing: not_found 404 medium, 4 in a row since 6, of 9 8 7
    Nothing was recorded here
404 long after a change: it is not blamed | 6*ok 4*404 | failing: not_found 404 medium, 4 in a row since 6, of 9 8 7
slow, then timing out | 5*ok 8*7000ms 6*request_timeout | failing: timing_out high, 6 in a row since 13, of 18 17 16
    had become slow
    7000 ms
timing out at once: it was not slow before | 8*ok 6*request_timeout | failing: timing_out medium, 6 in a row since 8, of 13 12 11
    !slow
a deadline of 2.5 s | 5*900ms 3*request_timeout | failing: timing_out high, 3 in a row since 5, of 7 6 5
    The receiver had become slow, and now does not answer within the deadline of 2.5 seconds.
a deadline of 1 s | 3*request_timeout | failing: timing_out medium, 3 in a row since 0, of 2 1 0
    the deadline of 1 second.
slow, by a deadline of 2.5 s | 8*1500ms | healthy: slow high, 0 in a row since 0, of 7 6 5
slow but delivered | 8*8000ms | healthy: slow high, 0 in a row since 0, of 7 6 5
flapping | 6*ok,ok,503 ok | unstable: flapping 503 high, 0 in a row since 2, of 17 14 11
    6 of the last 19 attempts failed
failing for some event types only | 4*ok,400 ok | unstable: some_event_types 400 medium, 0 in a row since 1, of 7 5 3
    Only events of these types fail: invoice.voided. Others are delivered.
    +updateWebhookEndpoint
one delivery that fails again and again | 4*ok,500 | unstable: some_deliveries 500 medium, 1 in a row since 1, of poison
an outage of one delivery that ended | 4*ok 7*500 3*ok | healthy: healthy high, 0 in a row since 13
an event type that fails only now | 6*ok 3*400 | failing: refused 400 medium, 3 in a row since 6, of 8 7 6
flapping that has settled into failing | 6*ok,503 6*503 | failing: server_error 503 medium, 7 in a row since 11, of 17 16 15
429 in a row | 6*ok 5*429 | failing: rate_limited 429 medium, 5 in a row since 6, of 10 9 8
    +updateWebhookEndpoint
429 in turn with deliveries | 7*ok,429 | failing: rate_limited 429 high, 1 in a row since 1, of 13 11 9
401 since a rotation, within its grace | 6*ok 4*401 | failing: rejected 401 high, 4 in a row since 6, after aud_5.5, of 9 8 7
    since the signing secret was rotated
    2026-11-21T12:05:30.000Z
    Do not rotate again before 2026-11-21T12:05:30.000Z
    -rotateWebhookSecret
403 since the old secret ended | 6*ok 4*403 | failing: rejected 403 high, 4 in a row since 6, after aud_-1434.5, of 9 8 7
    The receiver answers 403 since the old signing secret ended: it still verifies with the old one.
    the old one signed until 2026-11-20T12:05:30.000Z
401 without a rotation | 6*ok 4*401 | failing: rejected 401 medium, 4 in a row since 6, of 9 8 7
    !rotated
401 that names the timestamp, though the secret was rotated | 6*ok 4*401 | failing: timestamp_off 401 high, 4 in a row since 6, of 9 8 7
    it refuses the time in webhook-timestamp
    Compare the receiver's clock with the right time
    -rotateWebhookSecret
500 that names the timestamp | 6*ok 4*500 | failing: server_error 500 medium, 4 in a row since 6, of 9 8 7
disabled by hand | 6*ok | disabled: disabled_by_hand high, 0 in a row since 7, after aud_7
healthy | 12*ok | healthy: healthy high, 0 in a row since 11
    12 of the last 12 attempts were delivered.
healthy again, with deliveries lost before | 3*404 3*ok | healthy: healthy+stopped_deliveries high, 0 in a row since 5
nothing sent, and nothing published |  | unproven: nothing_sent high, 0 in a row since -100000
    nothing was published
subscriptions that match nothing any more | 6*ok | unproven: nothing_matches medium, 0 in a row since 8, after aud_8
    Since its subscriptions were changed, nothing that is published matches them.
one misspelt subscription among good ones | 6*ok | healthy: misspelt_subscription high, 0 in a row since -100000
    One of its subscriptions matches nothing that is published. invocie.sent looks like invoice.sent.
a misspelt prefix |  | unproven: nothing_matches high, 0 in a row since -100000
    invoces.* looks like invoice.paid
a subscription like no published type | 6*ok | healthy: healthy high, 0 in a row since 5
a subscription to Posthorn's own events | 6*ok | healthy: healthy high, 0 in a row since 5
a signing secret that no master key opens | 6*ok | failing: secret_unreadable high
    ENCRYPTION_KEY
due for minutes, and nothing sent |  | unproven: not_taken_up high, 0 in a row since -5
a URL that the policy refuses now | 3*ok 3*invalid_url | failing: url_refused high, 3 in a row since 3, of 5 4 3
    private or reserved address
    +updateWebhookEndpoint
a URL that was refused and is accepted now | 3*ok 3*invalid_url | failing: url_refused high, 3 in a row since 3, of 5 4 3
    would be accepted now
    -updateWebhookEndpoint
one failure only | 6*ok 500 | failing: server_error 500 low, 1 in a row since 6, of 6
failures of many kinds | 3*ok 500 404 dns_failed 500 tls_failed | failing: tls_failed low, 5 in a row since 7, of 7
    Until 2026-11-20T12:06:00.000Z: mostly, the receiver answered 500 (4 attempts).
down for half an hour, then up with a wrong secret | 6*ok 30*connection_failed 4*401 | failing: rejected 401 medium, 34 in a row since 36, of 39 38 37
    The last 4 attempts failed in this way.
    Until 2026-11-20T12:35:00.000Z: no connection could be made (30 attempts).
    +explainSignature
    !connection
a failure of another kind among many | 6*ok 9*500 request_timeout 5*500 | failing: server_error 500 high, 15 in a row since 6, of 20 19 18
    14 of the last 15 attempts failed in this way.
rotated during an outage, then 401 | 3*ok 3*connection_failed 4*401 | failing: rejected 401 high, 7 in a row since 6, after aud_4.5, of 9 8 7
    since the signing secret was rotated
    +explainSignature
401 before a rotation and after it | 3*ok 3*401 4*401 | failing: rejected 401 medium, 7 in a row since 6, of 9 8 7
    Judged since the signing secret was rotated at 2026-11-20T12:05:30.000Z.
    Until 2026-11-20T12:05:00.000Z: the receiver answered 401 (3 attempts).
    !rotated
404, another URL, and 404 again | 3*ok 12*404 2*404 | failing: not_found 404 medium, 14 in a row since 15, of 16 15
    Judged since its URL was changed at 2026-11-20T12:14:30.000Z.
    The last 2 attempts failed in this way.
404, another URL, and nothing sent since | 3*ok 12*404 | unproven: nothing_sent high, 12 in a row since 14.5, after aud_14.5
    Nothing has been sent since its URL was changed at 2026-11-20T12:14:30.000Z.
    Until 2026-11-20T12:14:00.000Z: the receiver answered 404 (12 attempts).
    +sendTestEvent
timeouts, another request, and delivered since | 9*request_timeout ok | healthy: healthy high, 0 in a row since 9
flapping that ended with a new URL | 6*ok,ok,503 2*ok | healthy: healthy high, 0 in a row since 19
flapping that has ended | 4*ok,ok,503 7*ok | healthy: healthy high, 0 in a row since 18
flapping, and in a long row of deliveries | 4*ok,ok,503 6*ok | unstable: flapping 503 high, 0 in a row since 2, of 11 8 5
never delivered | 4*dns_failed | failing: name_unresolved medium, 4 in a row since 0, of 3 2 1
    Nothing has been delivered to this endpoint yet
more attempts than were read | 100*500 | failing: server_error 500 high, 100 in a row since 0, of 99 98 97
    may have begun earlier
    !yet
301 in a row | 3*ok 4*301 | failing: redirected 301 medium, 4 in a row since 3, of 6 5 4
400 in a row | 3*ok 4*400 | failing: refused 400 medium, 4 in a row since 3, of 6 5 4
408 in a row | 3*ok 4*408 | failing: timing_out 408 medium, 4 in a row since 3, of 6 5 4
410 in a row | 3*ok 4*410 | failing: not_found 410 medium, 4 in a row since 3, of 6 5 4
502 in a row | 3*ok 4*502 | failing: server_error 502 medium, 4 in a row since 3, of 6 5 4
connection_failed in a row | 3*ok 4*connection_failed | failing: unreachable medium, 4 in a row since 3, of 6 5 4
dns_failed in a row | 3*ok 4*dns_failed | failing: name_unresolved medium, 4 in a row since 3, of 6 5 4
a proxy that fails | 3*ok 4*proxy_failed | failing: proxy_failed high, 4 in a row since 3, of 6 5 4
    DELIVERY_PROXY
    -updateWebhookEndpoint
no token | 3*ok 4*auth_failed | failing: authentication_failing high, 4 in a row since 3, of 6 5 4
    +checkAuthentication
    +updateWebhookEndpoint
a certificate that expires in 29 days | 3*ok | healthy: certificate_expiring high
    from then on nothing is sent
    +updateWebhookEndpoint
a certificate that expires in 31 days | 3*ok | healthy: healthy high, 0 in a row since 2
a certificate that has expired | 3*ok 4*auth_failed | failing: authentication_failing+certificate_expiring high, 4 in a row since 3, of 6 5 4
a port that refuses | 3*ok 4*connection_failed | failing: unreachable medium, 4 in a row since 3, of 6 5 4
    The receiver's host refuses connections to this port.
closed before an answer | 3*ok 4*connection_failed | failing: unreachable medium, 4 in a row since 3, of 6 5 4
    The receiver closes the connection before it answers, after 1.5 seconds.
an expired certificate that is known as one | 3*ok 4*tls_failed | failing: tls_failed medium, 4 in a row since 3, of 6 5 4
    The receiver's certificate has expired.
    Renew it.
a receiver without TLS | 4*tls_failed | failing: tls_failed medium, 4 in a row since 0, of 3 2 1
    does not speak TLS
    put TLS in front
no connection in time | 4*request_timeout | failing: timing_out medium, 4 in a row since 0, of 3 2 1
    No connection to the receiver is made within the deadline
invalid_response in a row | 3*ok 4*invalid_response | failing: not_http medium, 4 in a row since 3, of 6 5 4
`

/** Other evidence of some of them. */
const more: Readonly<Record<string, More>> = {
  "all failures of one delivery: less sure": { failed: { deliveryId: "whd_one" } },
  "404 long after a change: it is not blamed": { changes: [moved(2.5)] },
  "a deadline of 2.5 s": { requestTimeoutMs: 2_500 },
  "a deadline of 1 s": { requestTimeoutMs: 1_000 },
  "slow, by a deadline of 2.5 s": { requestTimeoutMs: 2_500 },
  "failing for some event types only": { failed: { eventType: "invoice.voided" } },
  "one delivery that fails again and again": { failed: { deliveryId: "whd_poison" } },
  "an outage of one delivery that ended": { failed: { deliveryId: "whd_one" } },
  "an event type that fails only now": { failed: { eventType: "invoice.voided" } },
  "401 since a rotation, within its grace": { changes: [rotated(5.5)] },
  "403 since the old secret ended": { changes: [rotated(5.5 - 24 * 60)] },
  "401 that names the timestamp, though the secret was rotated": {
    changes: [rotated(5.5)],
    failed: { timestampOff: true }
  },
  "500 that names the timestamp": { failed: { timestampOff: true } },
  "disabled by hand": {
    endpoint: { enabled: false, disabledReason: "manual", disabledAt: at(7) },
    changes: [stopping]
  },
  "healthy again, with deliveries lost before": {
    stopped: { ...noneStopped, count: 3, since: at(0), newestId: "whd_2" }
  },
  "nothing sent, and nothing published": { published: [] },
  "subscriptions that match nothing any more": {
    changes: [resubscribed],
    endpoint: { eventTypes: ["order.*"] }
  },
  "one misspelt subscription among good ones": {
    endpoint: { eventTypes: ["invoice.paid", "invocie.sent", "order.*"] },
    published: ["invoice.paid", "invoice.sent"]
  },
  "a misspelt prefix": { endpoint: { eventTypes: ["invoces.*"] } },
  "a subscription like no published type": { endpoint: { eventTypes: ["invoice.*", "order.*"] } },
  "a subscription to Posthorn's own events": { endpoint: { eventTypes: ["webhook.*"] } },
  "a signing secret that no master key opens": {
    endpoint: { secretReadable: false },
    waiting: { count: 3, oldestDueAt: at(-5) }
  },
  "due for minutes, and nothing sent": { waiting: { count: 3, oldestDueAt: at(-5) } },
  "a URL that the policy refuses now": { endpoint: { urlRefusal: refusal } },
  "a certificate that expires in 29 days": { endpoint: { certificateExpiresAt: at(29 * 24 * 60) } },
  "a certificate that expires in 31 days": { endpoint: { certificateExpiresAt: at(31 * 24 * 60) } },
  "a certificate that has expired": { endpoint: { certificateExpiresAt: at(2) } },
  "rotated during an outage, then 401": { changes: [rotated(4.5)] },
  "401 before a rotation and after it": { changes: [rotated(5.5)] },
  "404, another URL, and 404 again": { changes: [moved(14.5)] },
  "404, another URL, and nothing sent since": { changes: [moved(14.5)] },
  "timeouts, another request, and delivered since": { changes: [change(8.5, "endpoint_updated", "request")] },
  "flapping that ended with a new URL": { changes: [moved(17.5)] },
  "a port that refuses": { failed: { failureDetail: "refused" } },
  "closed before an answer": { failed: { failureDetail: "closed_early", durationMs: 1_500 } },
  "an expired certificate that is known as one": { failed: { failureDetail: "certificate_expired" } },
  "no connection in time": { failed: { failureDetail: "connect_timeout" } },
  "a receiver without TLS": { failed: { failureDetail: "not_tls" } },
  "more attempts than were read": { olderAttempts: true }
}

const cases = TABLE.trim()
  .split(/\n(?! )/)
  .map((row) => {
    const [line = "", ...texts] = row.split("\n").map((text) => text.trim())
    const [title = "", seen = "", expected = ""] = line.split(/ ?\| /)
    return { title, seen, expected, texts }
  })

describe("diagnosing an endpoint from its evidence", () => {
  it.each(cases)("§4.6 $title", ({ expected, seen, texts, title }) => {
    const diagnosis = diagnose(record(seen, more[title]))
    const finding = diagnosis.findings[0]!
    const said = [finding.summary, finding.because, ...people(finding)].join()

    expect(told(diagnosis)).toBe(expected)
    for (const text of texts)
      if (text.startsWith("!")) expect(finding.summary).not.toContain(text.slice(1))
      else if (text.startsWith("+")) expect(operations(finding)).toContain(text.slice(1))
      else if (text.startsWith("-")) expect(operations(finding)).not.toContain(text.slice(1))
      else expect(said).toContain(text)
  })

  it("§4.6 the table covers all other evidence", () => {
    expect(Object.keys(more).filter((name) => !cases.some(({ title }) => title === name))).toEqual([])
  })

  it("§4.6 a new secret is offered for an endpoint that must still be named", () => {
    for (const evidence of [
      record("6*ok 4*403", { changes: [rotated(5.5 - 24 * 60)] }),
      record("6*ok", { endpoint: { secretReadable: false } })
    ])
      expect(first(evidence).nextSteps).toContainEqual(
        expect.objectContaining({ operation: "rotateWebhookSecret", arguments: {}, fillIn: ["endpointId"] })
      )
    expect(first(record("12*ok")).nextSteps).toEqual([])
  })

  it("§3.5 reports that the receiver asked for a longer wait, unless the policy honors it or it was kept", () => {
    // One delivery, tried every minute.
    const failed = (retryAfter: string | null) => ({ deliveryId: "whd_0" as const, retryAfter })
    const codes = (retryAfter: string | null, honorsRetryAfter = false) =>
      diagnose(
        record("6*ok 4*503", { failed: failed(retryAfter), endpoint: { honorsRetryAfter } })
      ).findings.map(({ code }) => code)
    const [, early] = diagnose(record("6*ok 4*503", { failed: failed("120") })).findings

    expect(early).toMatchObject({
      code: "retry_after_ignored",
      summary: expect.stringContaining("3 times"),
      nextSteps: [{ operation: "updateWebhookEndpoint", fillIn: ["policy"] }]
    })
    for (const given of ["30", "soon", null]) expect(codes(given)).toEqual(["server_error"])
    expect(codes("120", true)).toEqual(["server_error"])
    expect(diagnose(record("4*503 ok", { failed: failed("120") })).findings.map(({ code }) => code)).toEqual([
      "healthy"
    ])
  })

  it("§3.4 reports that the lane probes, and when next, as long as something waits", () => {
    const told = (consecutiveFailures: number, more: More = {}) =>
      first(
        record("6*ok 6*503", {
          endpoint: { consecutiveFailures },
          waiting: { count: 2, oldestDueAt: at(12) },
          ...more
        })
      ).because
    // The latest attempt was a minute ago; by default the longest pause is 30 s.
    expect(told(6)).toContain("one attempt at a time, the next as soon as one is due")
    expect(told(6, { retryDelayMs: 600_000 })).toContain(`the next at ${at(21).slice(0, 16)}`)
    expect(told(3, { retryDelayMs: 3_600_000 })).toContain(`the next at ${at(18).slice(0, 16)}`)
    expect(told(2)).not.toContain("probes")
    expect(told(6, { waiting: { count: 0, oldestDueAt: null } })).not.toContain("probes")
    expect(told(6, { endpoint: { consecutiveFailures: 6, enabled: false } })).not.toContain("probes")
  })

  it.each([
    ["consecutive_failures", "after 7 failures in a row"],
    ["failing_for", "for as long as its policy allows, 7 times in a row"],
    ["gone", "answered 410 Gone"],
    ["manual", "Somebody disabled"]
  ] as const)("§3.5 says why it was disabled: %s", (disabledReason, said) => {
    const endpoint = { enabled: false, disabledReason, disabledAt: at(9), consecutiveFailures: 7 }
    const { findings } = diagnose(record("ok 3*500", { endpoint }))
    expect(findings.map(({ summary }) => summary).join()).toContain(said)
  })

  it("§4.6 404 since a URL change: names the change, and asks for the right URL", () => {
    const finding = first(record("6*ok 4*404", { changes: [moved(5.5)] }))

    expect(finding).toMatchObject({
      code: "not_found",
      since: at(6),
      httpStatus: 404,
      inARow: 4,
      changedBefore: moved(5.5),
      confidence: "high",
      summary: "The receiver answers 404 since the URL was changed."
    })
    expect(operations(finding)).toEqual([
      "listWebhookDeliveryAttempts",
      "updateWebhookEndpoint",
      "sendTestEvent"
    ])
    expect(finding.nextSteps[1]).toMatchObject({ arguments: { endpointId: "whe_1" }, fillIn: ["url"] })
  })

  it.each([401, 403, 400])(
    "§4.6 %i from the start and no rotation on record: nobody ever saw the secret",
    (status) => {
      const finding = first(record(`4*${status}`))
      const known = first(record(`4*${status}`, { changes: [rotated(-1)] }))
      const revealed = first(
        record(`4*${status}`, { changes: [change(-2, "endpoint_created", "url", "signingSecret")] })
      )
      const unknown = first(record(`4*${status}`, { olderChanges: true }))

      expect(finding.summary).toContain("nobody has seen this endpoint's signing secret yet")
      expect(finding).toMatchObject({ confidence: "high", changedBefore: null })
      expect(finding.nextSteps[1]).toMatchObject({ operation: "rotateWebhookSecret", fillIn: ["endpointId"] })
      expect(people(finding)).toHaveLength(1)
      for (const other of [known, unknown, revealed]) {
        expect(other.summary).not.toContain("nobody has seen")
        expect(other.changedBefore).toBeNull()
        expect(operations(other)).not.toContain("rotateWebhookSecret")
      }
    }
  )

  it("§4.6 disabled by failures: the cause first, then how to enable it, then what was lost", () => {
    const disabling = change(26, "endpoint_auto_disabled", "enabled", "disabledReason")
    const evidence = record("6*ok 20*connection_failed", {
      changes: [disabling],
      endpoint: {
        enabled: false,
        disabledReason: "consecutive_failures",
        disabledAt: at(26),
        consecutiveFailures: 20
      },
      ...lost
    })

    const { findings, health } = diagnose(evidence)

    expect(health).toBe("disabled")
    expect(findings.map(({ code }) => code)).toEqual([
      "unreachable",
      "disabled_by_failures",
      "stopped_deliveries",
      "missed_events"
    ])
    expect(findings[0]).toMatchObject({ inARow: 20, confidence: "high" })
    expect(operations(findings[0]!)).not.toContain("sendTestEvent")
    expect(findings[1]).toMatchObject({ since: at(26), inARow: 20, changedBefore: disabling })
    expect(findings[1]!.nextSteps[0]).toMatchObject({
      operation: "updateWebhookEndpoint",
      arguments: { endpointId: "whe_1" },
      fillIn: ["enabled"]
    })
    expect(findings[2]!.nextSteps[0]).toMatchObject({
      operation: "startReplay",
      arguments: { endpointId: "whe_1", since: at(6), includeMissed: true, dryRun: true },
      fillIn: []
    })
    expect(findings[2]!.nextSteps[1]).toMatchObject({
      operation: "startReplay",
      arguments: { endpointId: "whe_1", includeMissed: true },
      fillIn: ["since"]
    })
    expect(findings[2]!.deliveryIds).toEqual(["whd_25"])
    expect(findings[3]!.summary).toBe(
      "7 events matched while it was disabled, and no delivery was made for them."
    )
    // One call for both: two calls over the same period would send twice what both cover.
    expect(findings[3]!.nextSteps).toEqual([])
    expect(findings[3]!.because).toContain("The replay of what stopped sends these too.")
  })

  it("§4.6 offers one call for all that was lost, from the first loss on", () => {
    const replaysOf = (stopped: object, missedEvents: object) => {
      const evidence = record("", {
        stopped: { ...noneStopped, ...stopped },
        missedEvents: { ...noneMissed, ...missedEvents }
      })
      const findings = diagnose(evidence).findings.slice(1)
      const steps = findings.flatMap(({ nextSteps }) => nextSteps)
      return {
        told: findings.map(({ summary }) => summary),
        steps: steps.map(({ arguments: given, operation }) => [operation, given])
      }
    }
    const endpointId = "whe_1"
    const steps = [
      ["startReplay", { endpointId, since: at(2), dryRun: true, includeMissed: true }],
      ["startReplay", { endpointId, includeMissed: true }]
    ]

    expect(replaysOf({ count: 3, since: at(9) }, { count: 5, since: at(2) }).steps).toEqual(steps)
    expect(replaysOf({}, { count: 1, since: at(2) })).toEqual({
      told: ["1 event matched while it was disabled, and no delivery was made for it."],
      steps
    })
    expect(replaysOf({ count: 1, since: at(2) }, {}).steps).toEqual([["replayWebhookDelivery", {}]])
    const large = replaysOf(
      { count: 10_000, more: true, since: at(9) },
      { count: 10_000, more: true, since: at(2) }
    )
    expect(large.told).toEqual([
      "10000 deliveries or more stopped without being delivered.",
      "10000 events or more matched while it was disabled, and no delivery was made for them."
    ])
  })

  it.each([
    [1, " 1 of them was never sent: the worker failed each time it prepared the request."],
    [2, " Never sent: the worker failed each time it prepared the request."]
  ])("§3.4 given up before anything was sent: says that it was never sent (%i of 2)", (neverSent, words) => {
    const evidence = record("", {
      stopped: { ...noneStopped, count: 2, since: at(0), newestId: "whd_2", neverSent }
    })

    expect(diagnose(evidence).findings.find(({ code }) => code === "stopped_deliveries")!.summary).toBe(
      `2 deliveries stopped without being delivered.${words}`
    )
  })

  it("§3.4 due while its endpoint is probed: not taken up only when a whole pause has passed as well", () => {
    const probed = { endpoint: { consecutiveFailures: 6 }, waiting: { count: 3, oldestDueAt: at(-5) } }
    // The last attempt was two minutes ago.
    const codes = (retryDelayMs: number) =>
      diagnose(record("6*500", { ...probed, retryDelayMs })).findings.map(({ code }) => code)

    expect(codes(120_000)).not.toContain("not_taken_up")
    expect(codes(30_000)).toContain("not_taken_up")
  })

  it("§3.5 due while a slow request may be under way: not taken up only when its deadline has passed as well", () => {
    const hangs = { endpoint: { consecutiveFailures: 6 }, waiting: { count: 3, oldestDueAt: at(-5) } }
    // The last attempt began two minutes ago, and the next may have begun half a minute after its end.
    const codes = (requestTimeoutMs: number) =>
      diagnose(
        record("6*request_timeout", { ...hangs, requestTimeoutMs, failed: { durationMs: requestTimeoutMs } })
      ).findings.map(({ code }) => code)

    expect(codes(60_000)).not.toContain("not_taken_up")
    expect(codes(10_000)).toContain("not_taken_up")
  })

  it("§3.5 waits for its rate: says until when, and nothing of workers or of health", () => {
    const backlog = { rate: { requests: 5, perSeconds: 60 }, due: 42, more: false, emptyAt: at(30) }
    const waiting = { count: 50, oldestDueAt: at(-5) }
    const told = (more: More = {}) => diagnose(record("6*ok", { backlog, waiting, ...more }))
    const { findings, health } = told()
    const codes = (more: More) => told(more).findings.map(({ code }) => code)

    expect(health).toBe("healthy")
    expect(findings).toHaveLength(1)
    expect(findings[0]).toMatchObject({
      code: "rate_limited_backlog",
      since: waiting.oldestDueAt,
      summary: `42 deliveries wait for the endpoint's rate of 5 in 60 s; the last is sent at about ${at(30)}.`
    })
    expect(operations(findings[0]!)).toEqual(["updateWebhookEndpoint"])
    expect(told({ backlog: { ...backlog, more: true } }).findings[0]!.summary).toContain(
      `42 deliveries or more wait for the endpoint's rate of 5 in 60 s; the last is sent not before ${at(30)}.`
    )
    expect(told({ backlog: { ...backlog, due: 1 } }).findings[0]!.summary).toContain("1 delivery waits")
    expect(codes({ backlog: null })).toEqual(["not_taken_up"])
    expect(codes({ endpoint: { consecutiveFailures: 3 } })).not.toContain("rate_limited_backlog")
    expect(codes({ endpoint: { enabled: false } })).not.toContain("rate_limited_backlog")
  })

  it("§4.6 nothing sent yet: suggests a test send", () => {
    const evidence = record("")

    expect(diagnose(evidence).health).toBe("unproven")
    expect(first(evidence).code).toBe("nothing_sent")
    expect(operations(first(evidence))).toEqual([
      "rotateWebhookSecret",
      null,
      "sendTestEvent",
      "getWebhookEndpoint",
      "listEventTypes"
    ])
  })

  it("§4.6 never matched: lists the published types, and the one that was probably meant", () => {
    const misspelt = record("", {
      endpoint: { eventTypes: ["invoice.payed"] },
      published: ["api_token.created", "invoice.paid", "invoice.sent"]
    })

    const { findings, health } = diagnose(misspelt)

    expect([health, ...findings.map(({ code }) => code)]).toEqual(["unproven", "nothing_matches"])
    expect(findings[0]).toMatchObject({
      summary:
        "None of its subscriptions matches anything that is published. invoice.payed looks like invoice.paid.",
      because: "It subscribes to invoice.payed. Published in the last 30 days: invoice.paid, invoice.sent.",
      confidence: "high",
      changedBefore: null
    })
    expect(findings[0]!.nextSteps.map(({ fillIn, operation }) => [operation, ...fillIn])).toEqual([
      ["listEventTypes"],
      ["updateWebhookEndpoint", "eventTypes"],
      [null]
    ])
  })

  it("§4.6 a filter that lets nothing through is told with the condition that keeps most away, from 50 events on", () => {
    const filtered = {
      filter: new JsonText('{"total":{"$gt":1.10}}'),
      examined: 50,
      matching: 0,
      mostOften: { path: "/total", condition: '{"$gt":1.10}' }
    }
    const findingsFor = (more: Partial<typeof filtered>) =>
      diagnose(
        record("3*ok", {
          filtered: { ...filtered, ...more },
          changes: [change(2, "endpoint_updated", "filter")]
        })
      )
    const { findings, health } = findingsFor({})

    expect([health, ...findings.map(({ code }) => code)]).toEqual(["unproven", "filter_excludes_everything"])
    expect(findings[0]).toMatchObject({
      since: at(2),
      changedBefore: { fields: ["filter"] },
      because: 'Each was judged by the filter as it is now. Most often {"$gt":1.10} does not hold at /total.'
    })
    expect(findings[0]!.nextSteps.map(({ fillIn, operation }) => [operation, ...fillIn])).toEqual([
      ["tryFilter"],
      ["updateWebhookEndpoint", "filter"]
    ])
    for (const more of [{ examined: 49 }, { matching: 1 }])
      expect(findingsFor(more).findings.map(({ code }) => code)).toEqual(["healthy"])
  })

  it.each([
    ["https://example.com/new", " to https://example.com/new"],
    ["/elsewhere?token=x#y", " to https://example.com/elsewhere"],
    ["http://user:pass@example.org/", " to http://example.org/"],
    ["javascript:alert(1)", ""],
    ["http://", ""],
    [null, ""]
  ])("§4.6 a redirect is told with its target, as a URL and nothing else (%s)", (location, told) => {
    expect(first(record("3*ok 4*301", { failed: { location } })).summary).toBe(
      `The receiver answers 301, a redirect${told}, and redirects are never followed.`
    )
  })

  it("§4.6 the same evidence always gives the same answer", () => {
    const evidence = record("3*ok 4*404,500")

    expect(diagnose(structuredClone(evidence))).toEqual(diagnose(evidence))
  })

  it("§4.6 every next step names another operation", () => {
    expect(new Set(everyStep.map(({ operation }) => operation)).size).toBe(everyStep.length)
  })

  it("§4.6 a step without arguments to fill in only reads, or sends a test", () => {
    const kinds =
      "301 400 401 404 429 500 request_timeout connection_failed dns_failed tls_failed invalid_response invalid_url"
    const disabled = { enabled: false, disabledReason: "consecutive_failures", disabledAt: at(7) } as const
    const records = kinds
      .split(" ")
      .flatMap((seen) => [
        record(`3*${seen}`),
        record(`6*ok 3*${seen}`, { changes: [rotated(5.5)], endpoint: disabled, ...lost }),
        record(`6*ok,${seen}`),
        record("", { endpoint: { eventTypes: ["a.b"], secretReadable: false } })
      ])
    const SAFE =
      "listWebhookDeliveryAttempts getWebhookEndpoint listEventTypes sendTestEvent startReplay".split(" ")

    const steps = records.flatMap((each) => diagnose(each).findings.flatMap(({ nextSteps }) => nextSteps))

    const ready = steps.filter(({ fillIn, operation }) => operation !== null && fillIn.length === 0)
    expect(new Set(ready.map(({ operation }) => operation))).toEqual(new Set(SAFE))
    const replays = ready.filter(({ operation }) => operation === "startReplay")
    expect(replays.every(({ arguments: given }) => given?.dryRun === true)).toBe(true)
    for (const step of steps.filter(({ operation }) => operation === null)) {
      expect(step).toMatchObject({ tool: null, arguments: null, fillIn: [] })
    }
    expect(steps.length).toBeGreaterThan(100)
  })
})
