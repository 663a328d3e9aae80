import { assert, describe, it } from "@effect/vitest"
import { FAILURE_LIMIT } from "@posthorn/domain/DeliveryPolicy"
import { leastUnitsTo, pauseUnits } from "@posthorn/domain/Probing"

describe("Probing", () => {
  it("§3.4 pauses from the third failure in a row on: 1/8, 1/4, 1/2, then the whole of the retry delay", () => {
    assert.deepStrictEqual([0, 1, 2, 3, 4, 5, 6, 19, 5_000].map(pauseUnits), [
      0,
      0,
      0,
      1 / 8,
      1 / 4,
      1 / 2,
      1,
      1,
      1
    ])
  })

  it("§3.4 spreads 20 failures in a row over at least 8 retry delays, with ten in flight", () => {
    assert.strictEqual(leastUnitsTo(FAILURE_LIMIT, 10), 8)
    assert.strictEqual(leastUnitsTo(FAILURE_LIMIT, 1), 1 / 8 + 1 / 4 + 1 / 2 + 14)
  })
})
