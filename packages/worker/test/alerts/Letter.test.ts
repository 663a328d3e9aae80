/** What a message says to people: no link and no mention but ours, whole characters, and no promise that the policy breaks. */
import { describe, expect, it } from "@effect/vitest"
import { htmlOf, type LetterFacts, letterOf, slackOf, textOf } from "../../src/alerts/Letter.ts"

const settings = { name: "Acme hooks", accent: null, smtp: null, baseUrl: "https://hooks.example.com" }

const facts = (text: string, changes: Partial<LetterFacts> = {}): LetterFacts => ({
  cause: "endpoint.failing",
  happenedAt: "2026-11-27T03:12:00.000Z",
  workspace: { slug: "test", name: text },
  endpoint: { id: "whe_1", url: "https://evil.example/pay", description: text },
  digest: null,
  disables: true,
  tellsDisabled: true,
  finding: { summary: `${text} answers 503`, since: "2026-11-27T02:40:00.000Z", inARow: 10 },
  undelivered: null,
  ...changes
})

const all = (of: LetterFacts) => {
  const letter = letterOf(of, settings)
  return [textOf(letter), htmlOf(letter, settings), slackOf(letter)]
}

describe("§3.6 a message", () => {
  it("makes no link and no mention of a customer's text, in no format", () => {
    for (const said of all(
      facts("https://evil.example/x www.evil.example a@evil.example @channel <!here>")
    )) {
      expect(said.match(/https?:\/\/[^\s"|<>]+/g)?.every((url) => url.startsWith(settings.baseUrl))).toBe(
        true
      )
      expect(said).not.toMatch(/evil\.example|www\.evil|@evil|@channel/)
    }
    expect(all(facts("<!here>"))[2]).not.toMatch(/"text":"[^"]*<!here>[^"]*","unfurl/)
  })

  it("has whole characters, wherever it is cut", () => {
    for (let before = 0; before < 2; before++)
      for (const said of all(facts("a".repeat(before) + "😀".repeat(400))))
        expect(said).not.toMatch(/\p{Cs}|\\ud[89a-f]/u)
  })

  it("says when it was noticed and since when it fails, and promises only what the policy and the entry do", () => {
    const said = (changes: Partial<LetterFacts>) => all(facts("Acme", changes))[0]!
    expect(said({})).toContain("is failing. It was noticed at 2026-11-27 03:12 UTC.")
    expect(said({})).toContain("Since: 2026-11-27 02:40 UTC")
    expect(said({})).toContain("the endpoint is disabled, and we write once more.")
    expect(said({ tellsDisabled: false })).toContain("the endpoint is disabled.\n")
    expect(said({ disables: false })).not.toContain("is disabled")
  })
})
