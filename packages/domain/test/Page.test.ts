import { assert, describe, it } from "@effect/vitest"
import { byId, byOrdinal, byTime, clampLimit, cursorAt, pageOf, positionIn } from "@posthorn/domain/Page"
import { FastCheck as fc, Option } from "effect"

/** A cursor that no page contained. */
const forged = (position: object) => btoa(JSON.stringify(position))

const at = "2026-11-21T13:00:00.123Z"

describe("Page", () => {
  it("§8 uses 50 for a limit that is no integer, and clamps others to 1 to 200", () => {
    const cases = {
      50: [undefined, "", "abc", "1.5", "1e2", "NaN", "Infinity", "0x10", "50"],
      1: ["0", "-7", "1", "-99999999999999999999999"],
      200: ["200", "201", "99999999999999999999999"],
      7: [" 7 ", "+7", "007"]
    }

    for (const [limit, all] of Object.entries(cases))
      for (const raw of all) assert.strictEqual(clampLimit(raw), Number(limit), String(raw))
  })

  it.prop("§8 never gives a limit outside [1, 200]", [fc.string()], ([raw]) => {
    const limit = clampLimit(raw)

    assert.isTrue(Number.isInteger(limit) && limit >= 1 && limit <= 200)
  })

  it("§8 reads back the position it wrote", () => {
    const position = { at, id: "whd_1" }

    const cursor = cursorAt(byTime, position)
    assert.strictEqual(atob(cursor), `{"at":"${at}","id":"whd_1"}`)
    assert.deepStrictEqual(positionIn(byTime, cursor), Option.some(Option.some(position)))
    for (const none of [undefined, ""])
      assert.deepStrictEqual(positionIn(byTime, none), Option.some(Option.none()))

    const odd = { id: "???>>>~~~" }
    const plain = cursorAt(byId, odd)
    assert.match(plain, /[+/]/)
    const safe = plain.replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "")
    for (const cursor of [plain, safe])
      assert.deepStrictEqual(positionIn(byId, cursor), Option.some(Option.some(odd)))
  })

  it("§8 gives an empty page for a cursor that does not decode", () => {
    const bad = [
      "%",
      "=",
      "null",
      btoa("null"),
      btoa("{}"),
      btoa("[]"),
      btoa("{"),
      forged({ id: "x" }),
      forged({ at, id: "" }),
      forged({ at, id: "a\u0000" }),
      forged({ at: "infinity", id: "x" }),
      forged({ at: "300000-01-01T00:00:00.000Z", id: "x" }),
      forged({ at: "2026-02-30T00:00:00.000Z", id: "x" }),
      forged({ at, id: "x", more: 1 }),
      btoa("x".repeat(2000))
    ]

    for (const cursor of bad) assert.deepStrictEqual(positionIn(byTime, cursor), Option.none(), cursor)
    assert.deepStrictEqual(positionIn(byOrdinal, forged({ ordinal: 40_000 })), Option.none())
    assert.deepStrictEqual(positionIn(byId, forged({ id: 7 })), Option.none())
  })

  it.prop(
    "§7 never throws on a cursor",
    [fc.oneof(fc.string(), fc.fullUnicodeString(), fc.base64String())],
    ([cursor]) => {
      positionIn(byTime, cursor)
    }
  )

  it("§2.5 has a next cursor exactly when there is more", () => {
    const rows = [{ id: "1" }, { id: "2" }, { id: "3" }]

    assert.isNull(pageOf(byId, rows, 3).nextCursor)
    const page = pageOf(byId, rows, 2)
    assert.deepStrictEqual(page.items, rows.slice(0, 2))
    assert.strictEqual(page.nextCursor, forged({ id: "2" }))
    assert.isNull(pageOf(byId, [], 2).nextCursor)
  })
})
