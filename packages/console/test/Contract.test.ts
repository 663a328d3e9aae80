/** The console's copies of the contract are up to date, and its helpers do what they promise. */
import { permissions, Scope } from "@posthorn/domain/Permission"
import { describe, expect, it } from "vitest"
import { table } from "../bin/operations.ts"
import { operations } from "../src/api/operations.ts"
import { curlOf } from "../src/pages/delivery/curl.ts"
import { publishBody } from "../src/pages/publishBody.ts"
import { scopeWords } from "../src/pages/scopes.ts"
import { contrast, readable } from "../src/session/accent.ts"
import { inLines, rawMember } from "../src/ui/json.ts"

describe("the console", () => {
  it("§11 calls operations by the contract's own method, path and permission", () => {
    expect(operations, "run npm run generate").toEqual(table)
  })

  it("§5.1 has a label for every scope", () => {
    expect(Object.keys(scopeWords).sort()).toEqual([...Scope.literals].sort())
    expect(Object.keys(scopeWords).length).toBe(permissions.length + 2)
  })

  it("§2.7 shows a payload to the letter: order, numbers, escapes", () => {
    const payload = '{"10":1.0,"2":1e3,"big":9007199254740993,"s":"a\\"}{,\\u0000","e":{},"l":[],"n":[1,[2]]}'
    const answer = `{"id":"whd_1","payload":${payload},"replayedFrom":null}`
    expect(rawMember(answer, "payload")).toBe(payload)
    expect(rawMember(answer, "replayedFrom")).toBe("null")
    expect(rawMember(answer, "missing")).toBeUndefined()
    expect(rawMember('{"a":"payload","payload" : 12 }', "payload")).toBe("12")
    const lines = inLines(payload)
    expect(lines.replace(/\n */g, "").replace(/": /g, '":')).toBe(payload)
    expect(lines).toContain('\n  "big": 9007199254740993,')
    expect(lines).toContain('"e": {}')
    expect(inLines("1.50")).toBe("1.50")
    expect(inLines(`[${"[".repeat(90)}${"]".repeat(90)}]`)).toContain("[]")
  })

  it("§2.7 publishes a payload as it was typed", () => {
    expect(publishBody("a.b", '{"n":9007199254740993}')).toBe(
      '{"eventType":"a.b","payload":{"n":9007199254740993}}'
    )
  })

  it("§2.3 copies a request as a command that every shell reads alike", () => {
    const command = curlOf(
      "https://example.com/a?b=c&d",
      { host: "x", "x-note": "it's $HOME" },
      `{"a":"'; rm -rf /"}`
    )
    expect(command).toBe(
      `curl --globoff --path-as-is 'https://example.com/a?b=c&d' \\\n  -H 'x-note: it'\\''s $HOME' \\\n  --data-raw '{"a":"'\\''; rm -rf /"}'`
    )
  })

  it("§11 makes any colour of the operator's readable on both backgrounds", () => {
    for (const color of ["#ffff00", "#ffffff", "#000000", "#7f7f7f", "#ff0000", "#00ff88", "#123456"]) {
      expect(contrast(readable(color, "#f1f3f6", "#000000"), "#f1f3f6")).toBeGreaterThan(4.5)
      expect(contrast(readable(color, "#1b1e24", "#ffffff"), "#1b1e24")).toBeGreaterThan(4.5)
    }
  })
})
