import { describe, expect, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { storedBody } from "../src/BodyPrefix.ts"

const LIMIT = 16

describe("storedBody", () => {
  it.prop(
    "§2.3 is valid UTF-8 without NUL within the limit, whatever the bytes and their chunks",
    [FastCheck.array(FastCheck.uint8Array({ minLength: 1, maxLength: 12 }), { maxLength: 4 })],
    ([chunks]) => {
      const text = storedBody(
        chunks.map((chunk) => Buffer.from(chunk)),
        LIMIT
      )

      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMIT)
      expect(Buffer.from(text).toString()).toBe(text)
      expect(text).not.toContain("\0")
    }
  )

  it.prop(
    "§2.3 is the whole text if it fits, and its longest prefix of whole characters otherwise",
    [FastCheck.string({ unit: "binary", maxLength: 12 })],
    ([text]) => {
      const whole = text.replaceAll("\0", "\uFFFD")
      const characters = [...whole]
      while (Buffer.byteLength(characters.join("")) > LIMIT) characters.pop()

      const fits = Buffer.byteLength(text) <= LIMIT && Buffer.byteLength(whole) <= LIMIT

      expect(storedBody([Buffer.from(text)], LIMIT)).toBe(fits ? whole : characters.join(""))
    }
  )

  it.each([
    ["nothing", [], ""],
    ["a byte order mark, kept", ["\uFEFFa"], "\uFEFFa"],
    ["a character over two chunks", [Buffer.from("€").subarray(0, 1), Buffer.from("€").subarray(1)], "€"],
    ["an unfinished character at the end of a whole body", [Buffer.from("a€").subarray(0, 3)], "a\uFFFD"],
    ["a character that the limit tears", [`${"x".repeat(LIMIT - 1)}€`], "x".repeat(LIMIT - 1)],
    [
      "a character that is cut where reading stopped",
      [Buffer.from(`${"x".repeat(LIMIT - 3)}😀`).subarray(0, LIMIT)],
      "x".repeat(LIMIT - 3)
    ],
    ["a NUL, replaced", ["a\0b"], "a\uFFFDb"],
    ["bytes that grow when replaced", [Buffer.alloc(LIMIT, 0xff)], "\uFFFD".repeat(5)],
    ["more than the limit", ["x".repeat(LIMIT + 1)], "x".repeat(LIMIT)]
  ])("§2.3 stores %s", (_, chunks, text) => {
    expect(
      storedBody(
        chunks.map((chunk) => Buffer.from(chunk)),
        LIMIT
      )
    ).toBe(text)
  })
})
