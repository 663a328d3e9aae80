import { assert, describe, it } from "@effect/vitest"
import { RETRY_AFTER_MOST_MS, retryAfterMs } from "@posthorn/domain/RetryAfter"
import { FastCheck as fc } from "effect"

const NOW = Date.UTC(1994, 10, 6, 8, 49, 30)

describe("Retry-After", () => {
  it("§3.5 reads seconds, and the three forms of an HTTP date", () => {
    for (const [header, ms] of [
      ["0", 0],
      ["120", 120_000],
      [" 7 ", 7_000],
      ["Sun, 06 Nov 1994 08:49:37 GMT", 7_000],
      ["Sunday, 06-Nov-94 08:49:37 GMT", 7_000],
      ["Sun Nov  6 08:49:37 1994", 7_000],
      ["Sun, 06 Nov 1994 08:49:20 GMT", 0]
    ] as const)
      assert.strictEqual(retryAfterMs(header, NOW), ms, header)
  })

  it("§3.5 limits what a receiver asks for to 24 hours", () => {
    for (const header of ["86401", "9".repeat(400), "Tue, 06 Nov 2094 08:49:37 GMT"])
      assert.strictEqual(retryAfterMs(header, NOW), RETRY_AFTER_MOST_MS, header)
  })

  it("§3.5 ignores any other value", () => {
    for (const header of [
      "",
      "soon",
      "-1",
      "1.5",
      "1e3",
      "5, 7",
      "0x10",
      "tomorrow",
      "Sun, 99 Nov 1994 08:49:37 GMT",
      "Mon"
    ])
      assert.isNull(retryAfterMs(header, NOW), header)
  })

  it.prop("§3.5 is within its bounds whatever a receiver writes", [fc.string()], ([header]) => {
    const ms = retryAfterMs(header, NOW)
    assert.isTrue(ms === null || (ms >= 0 && ms <= RETRY_AFTER_MOST_MS))
  })
})
