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
    failureReason: status === 200 ? null : typeof seen === "number" ? "http_status" : (seen as FailureReason)
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
    urlRefusal: null,
    ...endpoint
  },
  attempts: seen.map(attemptOf).reverse(),
  olderAttempts: false,
  changes: [
    change(-100_000, "webhook.endpoint_created", "url", "eventTypes", "description", "enabled"),
    ...changes
  ].reverse(),
  waiting: { count: 0, oldestDueAt: null },
  stopped: { count: 0, since: null, newestId: null, neverSent: 0 },
  missedEvents: { count: 0, since: null },
  ...rest
})

const codes = (evidence: Evidence) => diagnose(evidence).findings.map(({ code }) => code)
const first = (evidence: Evidence): Finding => diagnose(evidence).findings[0]!
const operations = ({ nextSteps }: Finding) => nextSteps.map(({ operation }) => operation)

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

  it("decision §4 rejected by verification since a rotation", () => {
    const rotation = change(5.5, "webhook.secret_rotated", "signingSecret")
    const finding = first(record([...times(6, "ok"), ...times(4, 401)], { changes: [rotation] }))

    expect(finding).toMatchObject({
      code: "rejected",
      changedBefore: rotation,
      confidence: "high",
      summary: expect.stringContaining("since the signing secret was rotated")
    })
    expect(operations(finding)).toContain("rotateWebhookSecret")
  })

  it("decision §4 rejected since the old secret stopped signing, 24 hours after a rotation", () => {
    const rotation = change(5.5 - 24 * 60, "webhook.secret_rotated", "signingSecret")

    expect(first(record([...times(6, "ok"), ...times(4, 403)], { changes: [rotation] }))).toMatchObject({
      code: "rejected",
      changedBefore: rotation,
      confidence: "high"
    })
  })

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
      stopped: { count: 2, since: at(6), newestId: "whd_25", neverSent: 0 },
      missedEvents: { count: 7, since: at(27) }
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
      arguments: { endpointId: "whe_1", enabled: true }
    })
    expect(findings[2]!.nextSteps[0]).toMatchObject({
      operation: "replayWebhookDelivery",
      arguments: { deliveryId: "whd_25" }
    })
    expect(findings[3]!.nextSteps[0]).toMatchObject({
      operation: "publishEvent",
      fillIn: ["eventType", "payload"]
    })
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
      stopped: { count: 3, since: at(0), newestId: "whd_2", neverSent: 0 }
    })

    expect(codes(evidence)).toEqual(["healthy", "stopped_deliveries"])
  })

  it.each([
    [1, " 1 of them was never sent: the worker failed each time it prepared the request."],
    [2, " Never sent: the worker failed each time it prepared the request."]
  ])(
    "decision §7 given up before anything was sent: says that it was never sent (%i of 2)",
    (neverSent, words) => {
      const evidence = record([], { stopped: { count: 2, since: at(0), newestId: "whd_2", neverSent } })

      expect(diagnose(evidence).findings.find(({ code }) => code === "stopped_deliveries")!.summary).toBe(
        `2 deliveries stopped without being delivered.${words}`
      )
    }
  )

  it("decision §4 nothing sent yet: suggests a test send", () => {
    const evidence = record([])

    expect(diagnose(evidence).health).toBe("unproven")
    expect(first(evidence).code).toBe("nothing_sent")
    expect(operations(first(evidence))).toEqual(["sendTestEvent", "getWebhookEndpoint"])
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
})
