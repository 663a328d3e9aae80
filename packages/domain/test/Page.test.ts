import { assert, describe, it } from "@effect/vitest"
import {
  clampLimit,
  decodeCursor,
  encodeCursor,
  IdPosition,
  OrdinalPosition,
  pageOf,
  TimePosition
} from "@posthorn/domain/Page"
import { Either, FastCheck as fc, Option } from "effect"

const at = "2026-11-21T13:00:00.123Z"

describe("Page", () => {
  it("§8 takes 50 for a limit that is no integer, and clamps the rest into [1, 200]", () => {
    const cases: ReadonlyArray<readonly [string | undefined, number]> = [
      [undefined, 50],
      ["", 50],
      ["abc", 50],
      ["1.5", 50],
      ["1e2", 50],
      ["NaN", 50],
      ["Infinity", 50],
      ["0x10", 50],
      ["0", 1],
      ["-7", 1],
      ["1", 1],
      ["50", 50],
      ["200", 200],
      ["201", 200],
      ["99999999999999999999999", 200],
      ["-99999999999999999999999", 1],
      [" 7 ", 7],
      ["+7", 7],
      ["007", 7]
    ]

    for (const [raw, limit] of cases) assert.strictEqual(clampLimit(raw), limit, String(raw))
  })

  it.prop("§8 never gives a limit outside [1, 200]", [fc.string()], ([raw]) => {
    const limit = clampLimit(raw)

    assert.isTrue(Number.isInteger(limit) && limit >= 1 && limit <= 200)
  })

  it("§8 reads back the position it wrote", () => {
    const position = { at, id: "whd_1" }

    assert.deepStrictEqual(
      decodeCursor(TimePosition, encodeCursor(position)),
      Either.right(Option.some(position))
    )
    assert.deepStrictEqual(decodeCursor(TimePosition, undefined), Either.right(Option.none()))
  })

  it("§8 leaves what does not decode for an empty page", () => {
    const bad = [
      "",
      "%",
      "=",
      "null",
      btoa("null"),
      btoa("{}"),
      btoa("[]"),
      btoa("{"),
      encodeCursor({ id: "x" }),
      encodeCursor({ at, id: "" }),
      encodeCursor({ at, id: "a\u0000" }),
      encodeCursor({ at: "infinity", id: "x" }),
      encodeCursor({ at: "300000-01-01T00:00:00.000Z", id: "x" }),
      encodeCursor({ at: "2026-02-30T00:00:00.000Z", id: "x" }),
      encodeCursor({ at, id: "x", more: 1 }),
      btoa("x".repeat(2000))
    ]

    for (const cursor of bad) assert.isTrue(Either.isLeft(decodeCursor(TimePosition, cursor)), cursor)
    assert.isTrue(Either.isLeft(decodeCursor(OrdinalPosition, encodeCursor({ ordinal: 40_000 }))))
    assert.isTrue(Either.isLeft(decodeCursor(IdPosition, encodeCursor({ id: 7 }))))
  })

  it.prop(
    "§7 never throws on a cursor",
    [fc.oneof(fc.string(), fc.fullUnicodeString(), fc.base64String())],
    ([cursor]) => {
      decodeCursor(TimePosition, cursor)
    }
  )

  it("§2.5 has a next cursor exactly when there is more", () => {
    const position = (id: number) => ({ id: String(id) })

    assert.isNull(pageOf([1, 2], 2, position).nextCursor)
    const page = pageOf([1, 2, 3], 2, position)
    assert.deepStrictEqual(page.items, [1, 2])
    assert.strictEqual(page.nextCursor, encodeCursor({ id: "2" }))
    assert.isNull(pageOf([], 2, position).nextCursor)
  })
})
