import { describe, expect, it } from "vitest"
import { diagnose, everyStep } from "../src/Diagnosis.ts"
import type { Evidence, SeenAttempt, SeenChange } from "../src/DiagnosisEvidence.ts"
import type { Finding, FindingCode } from "../src/Finding.ts"
import type { FailureReason } from "../src/Verdict.ts"

const START = Date.parse("2026-11-20T12:00:00.000Z")
const MINUTE = 60_000
const at = (minutes: number) => new Date(START + minutes * MINUTE).toISOString()

type Seen = "ok" | FailureReason | number | { readonly ms: number }

const attemptOf = (seen: Seen, index: number): SeenAttempt => {
  const status = typeof seen === "number" ? seen : seen === "ok" || typeof seen === "object" ? 200 : null
  const permanent = typeof seen === "number" && seen >= 400 && seen < 500 && seen !== 408 && seen !== 429
  return {
    deliveryId: `whd_${index}`,
    eventType: "invoice.paid",
    at: at(index),
    status:
      status === 200 ? "delivered" : permanent || seen === "invalid_url" ? "failed_permanent" : "failed",
    durationMs: typeof seen === "object" ? seen.ms : 20,
    httpStatus: status,
    failureReason: status === 200 ? null : typeof seen === "number" ? "http_status" : (seen as FailureReason),
    url: "https://example.com/hooks",
    location: null
  }
}

const times = (count: number, ...seen: ReadonlyArray<Seen>) =>
  Array.from({ length: count }, () => seen).flat()

const change = (minutes: number, action: string, ...fields: ReadonlyArray<string>): SeenChange => ({
  auditEventId: `aud_${minutes}`,
  action,
  fields,
  at: at(minutes),
  via: "rest"
})

/** Attempts oldest first, one a minute, and what else is on record. */
const record = (
  seen: ReadonlyArray<Seen>,
  {
    changes = [],
    endpoint = {},
    ...rest
  }: Partial<Omit<Evidence, "endpoint">> & { endpoint?: Partial<Evidence["endpoint"]> } = {}
): Evidence => ({
  now: at(seen.length + 1),
  endpoint: {
    id: "whe_1",
    enabled: true,
    disabledReason: null,
    disabledAt: null,
    createdAt: at(-100_000),
    consecutiveFailures: 0,
    eventTypes: ["*"],
    urlRefusal: null,
    secretReadable: true,
    ...endpoint
  },
  requestTimeoutMs: 10_000,
  published: ["invoice.paid"],
  olderChanges: false,
  attempts: seen.map(attemptOf).reverse(),
  olderAttempts: false,
  changes: [
    change(-100_000, "webhook.endpoint_created", "url", "eventTypes", "description", "enabled"),
    ...changes
  ].reverse(),
  waiting: { count: 0, oldestDueAt: null },
  stopped: { count: 0, since: null, newestId: null, neverSent: 0, more: false },
  missedEvents: { count: 0, more: false, since: null },
  ...rest
})

const codes = (evidence: Evidence) => diagnose(evidence).findings.map(({ code }) => code)
const first = (evidence: Evidence): Finding => diagnose(evidence).findings[0]!
/** Null for a person's step. */
const operations = ({ nextSteps }: Finding) => nextSteps.map(({ operation }) => operation)
const people = ({ nextSteps }: Finding) =>
  nextSteps.filter(({ operation }) => operation === null).map(({ why }) => why)

describe("diagnosing an endpoint from its record", () => {
  it("decision §4 TLS expired: worked until a moment, nothing changed here since", () => {
    const evidence = record([...times(10, "ok"), ...times(12, "tls_failed")])

    expect(diagnose(evidence).health).toBe("failing")
    expect(first(evidence)).toMatchObject({
      code: "tls_failed",
      since: at(10),
      reason: "tls_failed",
      inARow: 12,
      changedBefore: null,
      confidence: "high",
      summary: expect.stringContaining("most likely it has expired"),
      because: expect.stringContaining(at(9)),
      deliveryIds: ["whd_21", "whd_20", "whd_19"]
    })
  })

  it("decision §10 (Diagnosis) TLS that never worked: a bad certificate, or plain HTTP behind https", () => {
    const finding = first(record(times(4, "tls_failed")))

    expect(finding.summary).toContain(
      "certificate is not valid for this host, or what listens there speaks plain HTTP"
    )
    expect(people(finding)[0]).toContain("TLS in front of it")
  })

  it("decision §10 (Diagnosis) all failures of one delivery: says so, and is less sure", () => {
    const evidence = record([...times(6, "ok"), ...times(7, 500)])
    const attempts = evidence.attempts.map((attempt) =>
      attempt.status === "delivered" ? attempt : { ...attempt, deliveryId: "whd_one" }
    )

    expect(first({ ...evidence, attempts })).toMatchObject({
      code: "server_error",
      inARow: 7,
      confidence: "medium",
      because: "All 7 failures are attempts of one delivery; nothing else was sent since.",
      deliveryIds: ["whd_one"]
    })
  })

  it("decision §4 404 since a URL change: names the change, and asks for the right URL", () => {
    const moved = change(5.5, "webhook.endpoint_updated", "url")
    const evidence = record([...times(6, "ok"), ...times(4, 404)], { changes: [moved] })

    const finding = first(evidence)

    expect(finding).toMatchObject({
      code: "not_found",
      since: at(6),
      httpStatus: 404,
      inARow: 4,
      changedBefore: moved,
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

  it("decision §4 404 without a change: says that nothing here explains it", () => {
    const finding = first(record([...times(6, "ok"), ...times(4, 404)]))

    expect(finding).toMatchObject({ code: "not_found", changedBefore: null, confidence: "medium" })
    expect(finding.because).toContain("Nothing was recorded here")
  })

  it("decision §4 a URL change long before the first failure is not blamed", () => {
    const moved = change(2.5, "webhook.endpoint_updated", "url")

    expect(
      first(record([...times(6, "ok"), ...times(4, 404)], { changes: [moved] })).changedBefore
    ).toBeNull()
  })

  it("decision §4 slow, then timing out: tells that it had become slow", () => {
    const evidence = record([...times(5, "ok"), ...times(8, { ms: 7_000 }), ...times(6, "request_timeout")])

    expect(first(evidence)).toMatchObject({
      code: "timing_out",
      since: at(13),
      inARow: 6,
      confidence: "high",
      summary: expect.stringContaining("had become slow"),
      because: expect.stringContaining("7000 ms")
    })
  })

  it("decision §4 timing out at once: does not claim that it was slow before", () => {
    expect(first(record([...times(8, "ok"), ...times(6, "request_timeout")])).summary).not.toContain("slow")
  })

  it("decision §10 (Diagnosis) tells the deadline that is configured, and judges slowness by it", () => {
    const slow = record([...times(5, { ms: 900 }), ...times(3, "request_timeout")], {
      requestTimeoutMs: 2_500
    })

    expect(first(slow).summary).toBe(
      "The receiver had become slow, and now does not answer within the deadline of 2.5 seconds."
    )
    expect(first(record(times(3, "request_timeout"), { requestTimeoutMs: 1_000 })).summary).toContain(
      "the deadline of 1 second."
    )
    expect(codes(record(times(8, { ms: 1_500 }), { requestTimeoutMs: 2_500 }))).toEqual(["slow"])
  })

  it("decision §4 slow but delivered: warns before the deadline is reached", () => {
    expect(first(record(times(8, { ms: 8_000 })))).toMatchObject({ code: "slow", confidence: "high" })
  })

  it("decision §4 flapping: deliveries and failures take turns", () => {
    const evidence = record([...times(6, "ok", "ok", 503), "ok"])

    expect(diagnose(evidence).health).toBe("unstable")
    expect(first(evidence)).toMatchObject({
      code: "flapping",
      httpStatus: 503,
      inARow: 0,
      since: at(2),
      confidence: "high",
      because: expect.stringContaining("6 of the last 19 attempts failed")
    })
  })

  it("decision §4 only some event types fail: names them, and blames neither receiver nor network", () => {
    const evidence = record([...times(4, "ok", 400), "ok"])
    const attempts = evidence.attempts.map((attempt) =>
      attempt.status === "delivered" ? attempt : { ...attempt, eventType: "invoice.voided" }
    )

    const finding = first({ ...evidence, attempts })

    expect(finding).toMatchObject({
      code: "some_event_types",
      summary: "Only events of these types fail: invoice.voided. Others are delivered.",
      confidence: "medium",
      httpStatus: 400
    })
    expect(operations(finding)).toContain("updateWebhookEndpoint")
    expect(diagnose({ ...evidence, attempts }).health).toBe("unstable")
  })

  it("decision §4 one delivery keeps failing while others go through: it is about what is in it", () => {
    const evidence = record(times(4, "ok", 500))
    const attempts = evidence.attempts.map((attempt) =>
      attempt.status === "delivered" ? attempt : { ...attempt, deliveryId: "whd_poison" }
    )

    expect(first({ ...evidence, attempts })).toMatchObject({
      code: "some_deliveries",
      deliveryIds: ["whd_poison"]
    })
  })

  it("decision §10 (Diagnosis) an outage that ended is over, also when it hit one delivery only", () => {
    const evidence = record([...times(4, "ok"), ...times(7, 500), ...times(3, "ok")])
    const attempts = evidence.attempts.map((attempt) =>
      attempt.status === "delivered" ? attempt : { ...attempt, deliveryId: "whd_one" }
    )

    expect(codes({ ...evidence, attempts })).toEqual(["healthy"])
  })

  it("decision §4 an event type that fails only now is not told apart by its type", () => {
    const evidence = record([...times(6, "ok"), ...times(3, 400)])
    const attempts = evidence.attempts.map((attempt) =>
      attempt.status === "delivered" ? attempt : { ...attempt, eventType: "invoice.voided" }
    )

    expect(first({ ...evidence, attempts }).code).toBe("refused")
  })

  it("decision §4 flapping that has settled into failing is failing", () => {
    expect(first(record([...times(6, "ok", 503), ...times(6, 503)])).code).toBe("server_error")
  })

  it("decision §4 rate limited: 429 in a row, and 429 in turn with deliveries", () => {
    const row = first(record([...times(6, "ok"), ...times(5, 429)]))
    const turns = first(record(times(7, "ok", 429)))

    expect([row.code, turns.code]).toEqual(["rate_limited", "rate_limited"])
    expect(row).toMatchObject({ httpStatus: 429, inARow: 5 })
    expect(operations(row)).toContain("updateWebhookEndpoint")
  })

  it("decision §10 (Diagnosis) rejected since a rotation, within its grace: no other rotation is offered", () => {
    const rotation = change(5.5, "webhook.secret_rotated", "signingSecret")
    const finding = first(record([...times(6, "ok"), ...times(4, 401)], { changes: [rotation] }))

    expect(finding).toMatchObject({
      code: "rejected",
      changedBefore: rotation,
      confidence: "high",
      summary: expect.stringContaining("since the signing secret was rotated")
    })
    expect(finding.because).toContain(at(5.5 + 24 * 60))
    expect(operations(finding)).not.toContain("rotateWebhookSecret")
    expect(people(finding).join()).toContain(`Do not rotate again before ${at(5.5 + 24 * 60)}`)
  })

  it("decision §4 rejected since the old secret stopped signing, 24 hours after a rotation", () => {
    const rotation = change(5.5 - 24 * 60, "webhook.secret_rotated", "signingSecret")

    const finding = first(record([...times(6, "ok"), ...times(4, 403)], { changes: [rotation] }))

    expect(finding).toMatchObject({
      code: "rejected",
      changedBefore: rotation,
      confidence: "high",
      summary:
        "The receiver answers 403 since the old signing secret ended: it still verifies with the old one."
    })
    expect(finding.because).toContain(`the old one signed until ${at(5.5)}`)
    expect(finding.nextSteps.find(({ operation }) => operation === "rotateWebhookSecret")).toMatchObject({
      arguments: {},
      fillIn: ["endpointId"]
    })
  })

  it.each([401, 403, 400])(
    "decision §10 (Diagnosis) %i from the start and no rotation on record: nobody ever saw the secret",
    (status) => {
      const seen = change(-1, "webhook.secret_rotated", "signingSecret")

      const finding = first(record(times(4, status)))
      const known = first(record(times(4, status), { changes: [seen] }))
      const unknown = first(record(times(4, status), { olderChanges: true }))

      expect(finding.summary).toContain("nobody has seen this endpoint's signing secret yet")
      expect(finding).toMatchObject({ confidence: "high", changedBefore: null })
      expect(finding.nextSteps[1]).toMatchObject({ operation: "rotateWebhookSecret", fillIn: ["endpointId"] })
      expect(people(finding)).toHaveLength(1)
      for (const other of [known, unknown]) {
        expect(other.summary).not.toContain("nobody has seen")
        expect(other.changedBefore).toBeNull()
        expect(operations(other)).not.toContain("rotateWebhookSecret")
      }
    }
  )

  it("decision §4 rejected with no rotation on record does not blame one", () => {
    const finding = first(record([...times(6, "ok"), ...times(4, 401)]))

    expect(finding).toMatchObject({ code: "rejected", changedBefore: null, confidence: "medium" })
    expect(finding.summary).not.toContain("rotated")
  })

  it("decision §4 disabled by failures: the cause first, then how to enable it, then what was lost", () => {
    const disabling = change(26, "webhook.endpoint_auto_disabled", "enabled", "disabledReason")
    const evidence = record([...times(6, "ok"), ...times(20, "connection_failed")], {
      changes: [disabling],
      endpoint: {
        enabled: false,
        disabledReason: "consecutive_failures",
        disabledAt: at(26),
        consecutiveFailures: 20
      },
      stopped: { count: 2, since: at(6), newestId: "whd_25", neverSent: 0, more: false },
      missedEvents: { count: 7, more: false, since: at(27) }
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
    // One call for both: two over the same time would send twice what both are about.
    expect(findings[3]!.nextSteps).toEqual([])
    expect(findings[3]!.because).toContain("The replay of what stopped sends these too.")
  })

  it("decision §10 (Replay jobs) hands out one call for all that was lost, from the first of it on", () => {
    const replaysOf = (stopped: object, missedEvents: object) => {
      const evidence = record([], {
        stopped: { count: 0, since: null, newestId: null, neverSent: 0, more: false, ...stopped },
        missedEvents: { count: 0, since: null, more: false, ...missedEvents }
      })
      const findings = diagnose(evidence).findings.slice(1)
      const steps = findings.flatMap(({ nextSteps }) => nextSteps)
      return {
        told: findings.map(({ summary }) => summary),
        steps: steps.map(({ arguments: given, operation }) => [operation, given])
      }
    }
    const endpointId = "whe_1"

    const missedFirst = replaysOf({ count: 3, since: at(9) }, { count: 5, since: at(2) })
    expect(missedFirst.steps).toEqual([
      ["startReplay", { endpointId, since: at(2), dryRun: true, includeMissed: true }],
      ["startReplay", { endpointId, includeMissed: true }]
    ])
    expect(replaysOf({}, { count: 1, since: at(2) })).toEqual({
      told: ["1 event matched while it was disabled, and no delivery was made for it."],
      steps: [
        ["startReplay", { endpointId, since: at(2), dryRun: true, includeMissed: true }],
        ["startReplay", { endpointId, includeMissed: true }]
      ]
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

  it("decision §4 disabled by hand: says so, and blames nothing else", () => {
    const endpoint = { enabled: false, disabledReason: "manual", disabledAt: at(7) } as const
    const stopping = change(7, "webhook.endpoint_updated", "enabled")

    const evidence = record(times(6, "ok"), { endpoint, changes: [stopping] })

    expect(codes(evidence)).toEqual(["disabled_by_hand"])
    expect(first(evidence).changedBefore).toEqual(stopping)
  })

  it("decision §4 healthy: one finding that says so", () => {
    const { findings, health } = diagnose(record(times(12, "ok")))

    expect(health).toBe("healthy")
    expect(findings).toMatchObject([
      { code: "healthy", because: "12 of the last 12 attempts were delivered.", nextSteps: [] }
    ])
  })

  it("decision §4 healthy again, with deliveries lost before: tells how to send them again", () => {
    const evidence = record([...times(3, 404), ...times(3, "ok")], {
      stopped: { count: 3, since: at(0), newestId: "whd_2", neverSent: 0, more: false }
    })

    expect(codes(evidence)).toEqual(["healthy", "stopped_deliveries"])
  })

  it.each([
    [1, " 1 of them was never sent: the worker failed each time it prepared the request."],
    [2, " Never sent: the worker failed each time it prepared the request."]
  ])(
    "decision §7 given up before anything was sent: says that it was never sent (%i of 2)",
    (neverSent, words) => {
      const evidence = record([], {
        stopped: { count: 2, since: at(0), newestId: "whd_2", neverSent, more: false }
      })

      expect(diagnose(evidence).findings.find(({ code }) => code === "stopped_deliveries")!.summary).toBe(
        `2 deliveries stopped without being delivered.${words}`
      )
    }
  )

  it("decision §4 nothing sent yet: suggests a test send", () => {
    const evidence = record([])

    expect(diagnose(evidence).health).toBe("unproven")
    expect(first(evidence).code).toBe("nothing_sent")
    expect(operations(first(evidence))).toEqual([
      "rotateWebhookSecret",
      null,
      "sendTestEvent",
      "getWebhookEndpoint",
      "listEventTypes"
    ])
    expect(first(record([], { published: [] })).summary).toContain("nothing was published")
  })

  it("decision §10 (Diagnosis) never matched: says what is published, and which was meant", () => {
    const misspelt = record([], {
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

  it("decision §10 (Diagnosis) subscriptions changed so that nothing matches any more: not healthy", () => {
    const changed = change(8, "webhook.endpoint_updated", "eventTypes")
    const evidence = record(times(6, "ok"), {
      changes: [changed],
      endpoint: { eventTypes: ["order.*"] },
      published: ["invoice.paid", "invoice.sent"]
    })

    expect(diagnose(evidence).health).toBe("unproven")
    expect(first(evidence)).toMatchObject({
      code: "nothing_matches",
      since: at(8),
      changedBefore: changed,
      confidence: "medium",
      summary: "Since its subscriptions were changed, nothing that is published matches them."
    })
  })

  it("decision §10 (Diagnosis) one misspelt subscription among good ones is told, and others are not guessed at", () => {
    const one = { eventTypes: ["invoice.paid", "invocie.sent", "order.*"] }
    const finding = first(
      record(times(6, "ok"), { endpoint: one, published: ["invoice.paid", "invoice.sent"] })
    )
    const prefix = record([], { endpoint: { eventTypes: ["invoces.*"] }, published: ["invoice.paid"] })

    expect(finding).toMatchObject({
      code: "misspelt_subscription",
      summary:
        "One of its subscriptions matches nothing that is published. invocie.sent looks like invoice.sent."
    })
    expect(first(prefix).summary).toContain("invoces.* looks like invoice.paid")
    expect(codes(record(times(6, "ok"), { endpoint: { eventTypes: ["invoice.*", "order.*"] } }))).toEqual([
      "healthy"
    ])
    expect(codes(record(times(6, "ok"), { endpoint: { eventTypes: ["webhook.*"] } }))).toEqual(["healthy"])
  })

  it("decision §10 (Diagnosis) a signing secret that no master key opens: not healthy, and work for the operator", () => {
    const waiting = { count: 3, oldestDueAt: at(-5) }
    const evidence = record(times(6, "ok"), { endpoint: { secretReadable: false }, waiting })

    expect(diagnose(evidence).health).toBe("failing")
    expect(codes(evidence)).toEqual(["secret_unreadable"])
    expect(people(first(evidence))[0]).toContain("ENCRYPTION_KEY")
    expect(first(evidence).nextSteps[1]).toMatchObject({
      operation: "rotateWebhookSecret",
      fillIn: ["endpointId"]
    })
  })

  it("decision §4 due for minutes and nothing sent: no worker seems to run", () => {
    const evidence = record([], { waiting: { count: 3, oldestDueAt: at(-5) } })

    expect(first(evidence)).toMatchObject({ code: "not_taken_up", since: at(-5), confidence: "high" })
  })

  it("decision §4 invalid_url after a change of policy: says why the URL is refused", () => {
    const refusal = "The URL points at a private or reserved address."
    const refused = first(
      record([...times(3, "ok"), ...times(3, "invalid_url")], { endpoint: { urlRefusal: refusal } })
    )
    const accepted = first(record([...times(3, "ok"), ...times(3, "invalid_url")]))

    expect(refused).toMatchObject({ code: "url_refused", reason: "invalid_url", confidence: "high" })
    expect(refused.because).toContain(refusal)
    expect(operations(refused)).toContain("updateWebhookEndpoint")
    expect(accepted.because).toContain("would be accepted now")
    expect(operations(accepted)).not.toContain("updateWebhookEndpoint")
  })

  it.each([
    ["https://example.com/new", " to https://example.com/new"],
    ["/elsewhere?token=x#y", " to https://example.com/elsewhere"],
    ["http://user:pass@example.org/", " to http://example.org/"],
    ["javascript:alert(1)", ""],
    ["http://", ""],
    [null, ""]
  ])(
    "decision §10 (Diagnosis) a redirect is told with its target, as a URL and nothing else (%s)",
    (location, told) => {
      const evidence = record([...times(3, "ok"), ...times(4, 301)])
      const attempts = evidence.attempts.map((attempt) => ({ ...attempt, location }))

      expect(first({ ...evidence, attempts }).summary).toBe(
        `The receiver answers 301, a redirect${told}, and redirects are never followed.`
      )
    }
  )

  it("decision §4 one failure only: low confidence", () => {
    expect(first(record([...times(6, "ok"), 500]))).toMatchObject({ confidence: "low", inARow: 1 })
  })

  it("decision §4 failures of many kinds: low confidence in any of them", () => {
    expect(first(record([...times(3, "ok"), 500, 404, "dns_failed", 500, "tls_failed"])).confidence).toBe(
      "low"
    )
  })

  it("decision §4 never delivered: says so, and takes the creation for no change", () => {
    const finding = first(record(times(4, "dns_failed")))

    expect(finding.summary).toContain("Nothing has been delivered to this endpoint yet")
    expect(finding.changedBefore).toBeNull()
  })

  it("decision §4 a record that goes further back than what was looked at says that it may have begun earlier", () => {
    const finding = first(record(times(100, 500), { olderAttempts: true }))

    expect(finding.because).toContain("may have begun earlier")
    expect(finding.summary).not.toContain("yet")
  })

  const oneFailure: ReadonlyArray<readonly [Seen, FindingCode]> = [
    [301, "redirected"],
    [400, "refused"],
    [408, "timing_out"],
    [410, "not_found"],
    [502, "server_error"],
    ["connection_failed", "unreachable"],
    ["dns_failed", "name_unresolved"],
    ["invalid_response", "not_http"]
  ]

  it.each(oneFailure)("decision §4 %s is found to be %s", (seen, code) => {
    expect(first(record([...times(3, "ok"), ...times(4, seen)])).code).toBe(code)
  })

  it("decision §4 the same evidence always gives the same answer", () => {
    const evidence = record([...times(3, "ok"), ...times(4, 404, 500)])

    expect(diagnose(structuredClone(evidence))).toEqual(diagnose(evidence))
  })

  it("decision §4 every next step names another operation", () => {
    expect(new Set(everyStep.map(({ operation }) => operation)).size).toBe(everyStep.length)
  })

  it("decision §10 (Diagnosis) a step that leaves nothing to fill in only looks, or sends a test", () => {
    const kinds: ReadonlyArray<Seen> = [301, 400, 401, 404, 429, 500, "request_timeout", "connection_failed"]
    const more: ReadonlyArray<Seen> = ["dns_failed", "tls_failed", "invalid_response", "invalid_url"]
    const rotation = change(5.5, "webhook.secret_rotated", "signingSecret")
    const disabled = { enabled: false, disabledReason: "consecutive_failures", disabledAt: at(7) } as const
    const stopped = { count: 2, since: at(6), newestId: "whd_25", neverSent: 0, more: false }
    const missedEvents = { count: 7, more: false, since: at(27) }
    const records = [...kinds, ...more].flatMap((seen) => [
      record(times(3, seen)),
      record([...times(6, "ok"), ...times(3, seen)], {
        changes: [rotation],
        endpoint: disabled,
        stopped,
        missedEvents
      }),
      record(times(6, "ok", seen)),
      record([], { endpoint: { eventTypes: ["a.b"], secretReadable: false } })
    ])
    const SAFE = [
      ...["listWebhookDeliveryAttempts", "getWebhookEndpoint", "listEventTypes"],
      ...["sendTestEvent", "startReplay"]
    ]

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
