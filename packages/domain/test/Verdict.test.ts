import { assert, describe, it } from "@effect/vitest"
import {
  FAILURE_LIMIT,
  judge,
  MAX_CLAIMS,
  MAX_RETRIES,
  type Observation,
  retryUnits
} from "@posthorn/domain/Verdict"
import { FastCheck as fc } from "effect"

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
      const verdict = judge(ordinal, answered(status))

      assert.deepStrictEqual(verdict, {
        status: "delivered",
        failureReason: null,
        retryAfterUnits: null,
        exhausted: false
      })
    }
  )

  it.prop(
    "§3.1 gives up at once on a 4xx other than 408 and 429",
    [anyOrdinal, fc.integer({ min: 400, max: 499 })],
    ([ordinal, status]) => {
      fc.pre(status !== 408 && status !== 429)

      const verdict = judge(ordinal, answered(status))

      assert.strictEqual(verdict.status, "failed_permanent")
      assert.strictEqual(verdict.failureReason, "http_status")
      assert.isNull(verdict.retryAfterUnits)
      assert.isFalse(verdict.exhausted)
    }
  )

  it("§3.1 tries again after 408, 429, 3xx and 5xx", () => {
    for (const status of [300, 302, 308, 408, 429, 500, 503, 599]) {
      assert.deepStrictEqual(judge(2, answered(status)), {
        status: "failed",
        failureReason: "http_status",
        retryAfterUnits: 2,
        exhausted: false
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
      assert.deepStrictEqual(judge(1, unanswered(reason)), {
        status: "failed",
        failureReason: reason,
        retryAfterUnits: 1,
        exhausted: false
      })
    }
  })

  it("§3.1 takes a status outside 200 to 599 for an invalid response", () => {
    for (const status of [0, 101, 199, 600, 999]) {
      assert.strictEqual(judge(1, answered(status)).failureReason, "invalid_response")
    }
  })

  it("§3.1 gives up at once on a URL refused at dispatch", () => {
    assert.strictEqual(judge(1, unanswered("invalid_url")).status, "failed_permanent")
  })

  it("§3.1 is exhausted after the sixth retry, and not before", () => {
    const last = judge(MAX_RETRIES + 1, answered(500))

    assert.isFalse(judge(MAX_RETRIES, answered(500)).exhausted)
    assert.isTrue(last.exhausted)
    assert.isNull(last.retryAfterUnits)
    assert.strictEqual(last.status, "failed")
  })
})
