import { assert, describe, it } from "@effect/vitest"
import { readTime } from "@posthorn/domain/Time"
import { FastCheck as fc } from "effect"

describe("Time", () => {
  it("§2.7 reads RFC 3339 with any offset into UTC with milliseconds", () => {
    const cases = {
      "2026-11-21T13:00:00Z": "2026-11-21T13:00:00.000Z",
      "2026-11-21t13:00:00.5z": "2026-11-21T13:00:00.500Z",
      "2026-11-21T13:00:00.123Z": "2026-11-21T13:00:00.123Z",
      "2026-11-21T13:00:00+05:30": "2026-11-21T07:30:00.000Z",
      "2026-01-01T00:30:00+01:00": "2025-12-31T23:30:00.000Z",
      "2024-02-29T00:00:00Z": "2024-02-29T00:00:00.000Z",
      "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000Z"
    }

    for (const [text, time] of Object.entries(cases)) assert.strictEqual(readTime(text), time, text)
  })

  it("§4.3 rounds a time between two milliseconds up", () => {
    assert.strictEqual(readTime("2026-11-21T13:00:00.1230Z"), "2026-11-21T13:00:00.123Z")
    assert.strictEqual(readTime("2026-11-21T13:00:00.123000001Z"), "2026-11-21T13:00:00.124Z")
    assert.strictEqual(readTime("2026-12-31T23:59:59.999999Z"), "2027-01-01T00:00:00.000Z")
  })

  it("§4.3 refuses what is no time", () => {
    const bad = `; now; 2026-11-21; 2026-11-21T13:00:00; 2026-11-21 13:00:00Z; 2026-11-21T13:00Z;
      2026-11-21T13:00:00.Z; 2026-02-29T00:00:00Z; 2026-13-01T00:00:00Z; 2026-11-21T25:00:00Z;
      2026-11-21T13:60:00Z; 2026-11-21T13:00:00+99:00; 0000-01-01T00:00:00Z;
      0001-01-01T00:00:00+01:00; 9999-12-31T23:59:59-01:00; +002026-11-21T13:00:00Z; 1763730000`.split(/;\s+/)

    for (const text of [...bad, "2026-11-21T13:00:00Z\n"]) assert.strictEqual(readTime(text), undefined, text)
  })

  it.prop(
    "§2.7 reads back every time it writes",
    [fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })],
    ([date]) => {
      assert.strictEqual(readTime(date.toISOString()), date.toISOString())
    }
  )
})
