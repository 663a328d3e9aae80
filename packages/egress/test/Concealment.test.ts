/** Secrets of a request in the answer that repeats them: each way to write them, and what the search costs at its worst. */
import { describe, expect, it } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { Effect } from "effect"
import { BODY_LIMIT_BYTES } from "../src/BodyPrefix.ts"
import { concealed, concealedIn } from "../src/Concealment.ts"

const SECRET = `ge"h<e>i'm &+/%\\ key`

const html = (text: string) =>
  text.replace(
    /[&<>"']/g,
    (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one] ?? "&#39;"
  )

/** How a receiver may write a text. */
const SPELLINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  JSON: (text) => JSON.stringify(text).slice(1, -1),
  "JSON of PHP": (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/"),
  "JSON of Go": (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replace(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`),
  HTML: html,
  "numbers of HTML": (text) => text.replace(/[^\w ]/g, (one) => `&#x${one.charCodeAt(0).toString(16)};`),
  "a URL": encodeURIComponent,
  "a form": (text) => new URLSearchParams([["", text]]).toString().slice(1),
  "every character of a URL": (text) => Buffer.from(text).toString("hex").replace(/../g, "%$&"),
  hex: (text) => Buffer.from(text).toString("hex"),
  "hex in capitals": (text) => Buffer.from(text).toString("hex").toUpperCase(),
  base64: (text) => Buffer.from(text).toString("base64"),
  base64url: (text) => Buffer.from(text).toString("base64url"),
  "base64 in a URL": (text) => encodeURIComponent(Buffer.from(text).toString("base64")),
  "base64 of a longer text": (text) => Buffer.from(`key=${text};`).toString("base64"),
  "base64 of a text that is longer by one": (text) => Buffer.from(`xkey=${text};y`).toString("base64"),
  "base64 in lines": (text) =>
    Buffer.from(`{"authorization":"${text}"}`).toString("base64").replace(/.{20}/g, "$&\r\n")
}

/** Whether nine characters of the secret can be read in what is kept, which are whole in base64 too. */
const isReadable = (kept: string, spell: (text: string) => string) =>
  Array.from({ length: SECRET.length - 8 }, (_, n) => SECRET.slice(n, n + 9)).some((part) =>
    [spell(part), Buffer.from(part).toString("base64")].some((written) => kept.includes(written))
  )

describe("an answer that repeats a secret", () => {
  for (const [name, spell] of Object.entries(SPELLINGS)) {
    it(`§2.9 is kept without it as ${name}, whole or cut`, () => {
      const written = spell(SECRET)
      const kept = concealed(`before ${written}, after`, [[SECRET, "sealed:1"]], BODY_LIMIT_BYTES)
      expect(kept).toContain("sealed:1")
      expect(kept.startsWith("before ")).toBe(true)
      expect(kept.endsWith(", after")).toBe(true)
      expect(isReadable(kept, spell)).toBe(false)
      for (let length = 1; length <= written.length; length++)
        expect(isReadable(concealed(written.slice(0, length), [[SECRET, ""]], BODY_LIMIT_BYTES), spell)).toBe(
          false
        )
    })
  }

  it("§2.9 keeps what is no secret, to the letter", () => {
    const text = `{"a":"\\u00e9 %41 &amp; ${SECRET.slice(0, 7)}", "b": "${"QUJD".repeat(20)}"}`
    expect(concealed(text, [[SECRET, "sealed:1"]], BODY_LIMIT_BYTES)).toBe(text)
    expect(concealed("a short one", [["short", "sealed:1"]], BODY_LIMIT_BYTES)).toBe("a short one")
  })

  it("§2.9 puts one label where a secret overlaps itself or contains another one", () => {
    const hidden = [
      ["me:geheim-2", "sealed:1"],
      ["geheim-2", "sealed:2"],
      ["aaaaaaaa", "sealed:3"]
    ] as const
    expect(concealed(`me:geheim-2 geheim-2 ${"a".repeat(20)}`, hidden, BODY_LIMIT_BYTES)).toBe(
      "sealed:1 sealed:2 sealed:3"
    )
  })

  it("§2.9 is cut again once the secrets are replaced: 2,048 bytes of the body, 256 of a header", () => {
    const secret = "geheim-1"
    const seen = {
      httpStatus: 500,
      failureReason: null,
      durationMs: 1,
      responseBody: `é${`${secret} `.repeat(300)}`.slice(0, 2_046),
      responseHeaders: JSON.stringify({ location: `${secret} `.repeat(28), server: "nginx" })
    }
    const { responseBody, responseHeaders } = concealedIn(seen, [[secret, "sealed:0123456789abcdef"]])
    expect(Buffer.byteLength(responseBody!)).toBeLessThanOrEqual(2_048)
    expect(responseBody).not.toContain(secret)
    const { location, server } = JSON.parse(responseHeaders!)
    expect(Buffer.byteLength(location)).toBeLessThanOrEqual(256)
    expect(location).not.toContain(secret)
    expect(server).toBe("nginx")
  })

  it.live("§2.9 costs at most 5 ms, whatever it and the secrets are", () =>
    Effect.gen(function* () {
      const long = "a".repeat(2_000)
      const worst: Readonly<Record<string, readonly [secret: (n: number) => string, text: string]>> = {
        "one character": [(n) => `${"a".repeat(2_026 + n)}b`, `${"a".repeat(2_047)}c`],
        "many beginnings": [(n) => `${"aaaaaaab".repeat(200)}${n}`, "aaaaaaab".repeat(256)],
        "short secrets": [(n) => "a".repeat(8 + n), "a".repeat(2_048)],
        "hex and base64": [
          (n) => `${long}${n}`,
          Buffer.from(long).toString("base64").slice(0, 1_000) +
            " " +
            Buffer.from(long).toString("hex").slice(0, 1_000)
        ],
        "many encoded words": [(n) => `${long}${n}`, "aaaaaaaaaaa.".repeat(170)],
        "many escapes": [(n) => `${long}${n}`, "%61".repeat(682)],
        "lines of base64": [(n) => `${long}${n}`, "YWFh\n".repeat(409)]
      }
      const took: Record<string, number> = {}
      for (const [name, [secretOf, text]] of Object.entries(worst)) {
        const hidden = Array.from({ length: 22 }, (_, n) => [secretOf(21 - n), `sealed:${n}`] as const)
        const cost = Effect.sync(() => {
          const began = performance.now()
          concealed(text, hidden, BODY_LIMIT_BYTES)
          return performance.now() - began
        })
        took[name] = yield* atBest(5, cost, (ms) => ms)
      }
      for (const [name, ms] of Object.entries(took)) expect(ms, name).toBeLessThan(5)
    })
  )
})
