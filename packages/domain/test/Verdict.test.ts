import { assert, describe, it } from "@effect/vitest"
import {
  type DeliveryPolicy,
  FAILURE_LIMIT,
  inForce,
  MAX_RETRIES,
  retryUnits
} from "@posthorn/domain/DeliveryPolicy"
import { disablingReason, judge, MAX_CLAIMS, type Observation } from "@posthorn/domain/Verdict"
import { FastCheck as fc } from "effect"

const defaults = { retryDelayMs: 30_000, requestTimeoutMs: 10_000 }
const NOW = Date.UTC(2026, 0, 1)
const DELIVERY = "whd_0643f1a2b3c4d5e6f708192a3b4c5"

const under = (policy: DeliveryPolicy | null, retry = true) => {
  const held = inForce(policy, null, defaults)
  return (ordinal: number, seen: Observation, deliveryId = DELIVERY) =>
    judge(held, { deliveryId, ordinal, retry, now: NOW }, seen)
}
const TWENTY = { kind: "failures", count: 20 } as const
const byDefault = under(null)

const answered = (httpStatus: number): Observation => ({
  httpStatus,
  failureReason: null,
  durationMs: 1,
  responseBody: null
})

const unanswered = (failureReason: NonNullable<Observation["failureReason"]>): Observation => ({
  httpStatus: null,
  failureReason,
  durationMs: 1,
  responseBody: null
})

const anyOrdinal = fc.integer({ min: 1, max: MAX_RETRIES + 1 })

describe("Verdict", () => {
  it("§8 §2.1 §3.4 has six retries, disables at 20 failures in a row, and gives up after 7 claims", () => {
    assert.deepStrictEqual([MAX_RETRIES, FAILURE_LIMIT, MAX_CLAIMS], [6, 20, 7])
  })

  it("§8 waits min(attempts, 6) units of the retry delay", () => {
    assert.deepStrictEqual([1, 2, 3, 4, 5, 6, 7, 60].map(retryUnits), [1, 2, 3, 4, 5, 6, 6, 6])
  })

  it.prop(
    "§3.1 delivers on any 2xx, whatever the attempt",
    [anyOrdinal, fc.integer({ min: 200, max: 299 })],
    ([ordinal, status]) => {
      const verdict = byDefault(ordinal, answered(status))

      assert.deepStrictEqual(verdict, {
        status: "delivered",
        failureReason: null,
        waitMs: null,
        exhausted: false,
        disables: null
      })
    }
  )

  it.prop(
    "§3.1 gives up at once on a 4xx other than 408 and 429",
    [anyOrdinal, fc.integer({ min: 400, max: 499 })],
    ([ordinal, status]) => {
      fc.pre(status !== 408 && status !== 429)

      const verdict = byDefault(ordinal, answered(status))

      assert.strictEqual(verdict.status, "failed_permanent")
      assert.strictEqual(verdict.failureReason, "http_status")
      assert.isNull(verdict.waitMs)
      assert.isFalse(verdict.exhausted)
    }
  )

  it("§3.1 tries again after 408, 429, 3xx and 5xx", () => {
    for (const status of [300, 302, 308, 408, 429, 500, 503, 599]) {
      assert.deepStrictEqual(byDefault(2, answered(status)), {
        status: "failed",
        failureReason: "http_status",
        waitMs: 60_000,
        exhausted: false,
        disables: TWENTY
      })
    }
  })

  it("§3.1 tries again when no usable answer came", () => {
    for (const reason of [
      "request_timeout",
      "connection_failed",
      "dns_failed",
      "tls_failed",
      "invalid_response"
    ] as const) {
      assert.deepStrictEqual(byDefault(1, unanswered(reason)), {
        status: "failed",
        failureReason: reason,
        waitMs: 30_000,
        exhausted: false,
        disables: TWENTY
      })
    }
  })

  it("§3.1 §3.4 tries again when the proxy or the authentication failed, and disables nothing for it", () => {
    for (const reason of ["proxy_failed", "auth_failed"] as const) {
      assert.deepStrictEqual(under({ onGone: "disable" })(1, unanswered(reason)), {
        status: "failed",
        failureReason: reason,
        waitMs: 30_000,
        exhausted: false,
        disables: { kind: "never" }
      })
      assert.isTrue(byDefault(MAX_RETRIES + 1, unanswered(reason)).exhausted)
    }
  })

  it("§3.1 treats a status outside 200 to 599 as an invalid response", () => {
    for (const status of [0, 101, 199, 600, 999]) {
      assert.strictEqual(byDefault(1, answered(status)).failureReason, "invalid_response")
    }
  })

  it("§3.1 gives up at once on a URL refused at dispatch", () => {
    assert.strictEqual(byDefault(1, unanswered("invalid_url")).status, "failed_permanent")
  })

  it("§3.1 is exhausted after the sixth retry, and not before", () => {
    const last = byDefault(MAX_RETRIES + 1, answered(500))

    assert.isFalse(byDefault(MAX_RETRIES, answered(500)).exhausted)
    assert.isTrue(last.exhausted)
    assert.isNull(last.waitMs)
    assert.strictEqual(last.status, "failed")
  })

  it.prop(
    "§3.5 without a policy waits exactly as the source document says, whatever the receiver asks for",
    [fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3_600_000 }), fc.string()],
    ([ordinal, retryDelayMs, retryAfter]) => {
      const policy = inForce(null, null, { ...defaults, retryDelayMs })
      const seen = { ...answered(429), responseHeaders: JSON.stringify({ "retry-after": retryAfter }) }

      const { waitMs } = judge(policy, { deliveryId: DELIVERY, ordinal, retry: true, now: NOW }, seen)

      assert.strictEqual(waitMs, Math.min(ordinal, 6) * retryDelayMs)
    }
  )

  it("§3.5 tries again as often as the policy has waits, and then no more", () => {
    const waits = under({ retries: { kind: "waits", seconds: [1, 5] } })
    assert.deepStrictEqual(
      [1, 2, 3, 9]
        .map((ordinal) => waits(ordinal, answered(500)))
        .map(({ exhausted, waitMs }) => [waitMs, exhausted]),
      [
        [1_000, false],
        [5_000, false],
        [null, true],
        [null, true]
      ]
    )
    assert.isTrue(under({ retries: { kind: "none" } })(1, answered(500)).exhausted)
  })

  it.prop(
    "§3.1 judges the one attempt of a publish without retries as the policy `none` does",
    [
      fc.constantFrom(200, 302, 404, 408, 410, 429, 500),
      fc.constantFrom<"standard" | "patient" | "none">("standard", "patient", "none")
    ],
    ([status, kind]) => {
      const policy = { onGone: "disable", honorRetryAfter: true, retries: { kind } } as const
      const seen = { ...answered(status), responseHeaders: '{"retry-after":"60"}' }

      assert.deepStrictEqual(
        under(policy, false)(1, seen),
        under({ ...policy, retries: { kind: "none" } })(1, seen)
      )
    }
  )

  it("§3.5 draws each wait evenly between itself and (1 + jitter) times itself, the same for the same attempt", () => {
    const jittered = under({ retries: { kind: "waits", seconds: [100, 100] }, jitter: 0.5 })
    const waits = Array.from({ length: 2_000 }, (_, n) => jittered(1, answered(500), `whd_${n}`).waitMs!)

    assert.isTrue(waits.every((wait) => wait >= 100_000 && wait <= 150_000))
    for (let tenth = 0; tenth < 10; tenth++) {
      const within = waits.filter((wait) => Math.min(9, Math.floor((wait - 100_000) / 5_000)) === tenth)
      assert.isTrue(within.length > 130 && within.length < 270, `${within.length} in tenth ${tenth}`)
    }
    assert.strictEqual(jittered(1, answered(500)).waitMs, jittered(1, answered(500)).waitMs)
    assert.notStrictEqual(jittered(1, answered(500)).waitMs, jittered(2, answered(500)).waitMs)
  })

  it("§3.5 does not try again before the time that a retryable answer asks for", () => {
    const honoring = under({ retries: { kind: "waits", seconds: [10] }, honorRetryAfter: true })
    const asking = (header: string) => ({
      ...answered(503),
      responseHeaders: JSON.stringify({ "retry-after": header })
    })

    assert.strictEqual(honoring(1, asking("60")).waitMs, 60_000)
    assert.strictEqual(honoring(1, asking("Thu, 01 Jan 2026 00:02:00 GMT")).waitMs, 120_000)
    for (const header of ["5", "0", "soon"]) assert.strictEqual(honoring(1, asking(header)).waitMs, 10_000)
    assert.strictEqual(honoring(1, asking("999999999")).waitMs, 86_400_000)
    assert.strictEqual(honoring(1, answered(503)).waitMs, 10_000)
    assert.isTrue(honoring(2, asking("60")).exhausted)
    assert.isNull(honoring(1, { ...asking("60"), httpStatus: 404 }).waitMs)
  })

  it("§3.5 says which rule disables the endpoint: 410 alone, when the policy says so", () => {
    const never = { kind: "never" } as const
    assert.deepStrictEqual(under({ onGone: "disable" })(1, answered(410)).disables, { kind: "gone" })
    assert.deepStrictEqual(under({ onGone: "disable" })(1, answered(404)).disables, TWENTY)
    assert.deepStrictEqual(byDefault(1, answered(410)).disables, TWENTY)
    assert.deepStrictEqual(under({ disableAfter: never })(1, answered(500)).disables, never)
  })

  it("§3.5 disables by a count, by a time but not before the fifth failure, by 410, or never", () => {
    const hour = { kind: "failing_for", seconds: 3_600 } as const
    const three = { kind: "failures", count: 3 } as const
    const cases = [
      [three, 2, 1e9, null],
      [three, 3, 0, "consecutive_failures"],
      [hour, 4, 1e9, null],
      [hour, 5, 3_599_999, null],
      [hour, 5, 3_600_000, "failing_for"],
      [{ kind: "gone" }, 1, 0, "gone"],
      [{ kind: "never" }, 9_999, 1e12, null]
    ] as const
    for (const [rule, failures, failingMs, reason] of cases)
      assert.strictEqual(disablingReason(rule, { failures, failingMs }), reason)
  })
})
