/** Every official case of a schema that compiles is judged right, and what does not compile is listed here. */
import { expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { compileSchema, STEPS } from "../src/Schemas.ts"
import { groups } from "./Cases.ts"

/** By the path of the first issue, or the path and the beginning of its message. */
const REFUSED = {
  "validate definition against metaschema": "/$ref",
  "remote ref, containing refs itself": "/$ref",
  "empty enum": " enum must have non-empty array",
  "ref to if": ' "if" without "then" and "else" is ignored',
  "ref to then": ' "then" without "if" is ignored',
  "ref to else": ' "else" without "if" is ignored',
  "properties whose names are Javascript object property names": "/properties/__proto__",
  "pattern with Unicode property escape requires unicode mode": "/pattern",
  "patterns always use unicode semantics with pattern": "/pattern",
  "pattern with non-ASCII digits": "/pattern",
  "patternProperties with Unicode property escape": "/patternProperties",
  "patterns always use unicode semantics with patternProperties": "/patternProperties",
  "patternProperties with non-ASCII digits": "/patternProperties"
}

it.effect("§6.2 the official cases are judged right, or their schemas refused", () =>
  Effect.gen(function* () {
    const refused: Record<string, string> = {}
    const wrong: Array<unknown> = []
    let right = 0
    for (const [file, group, schema, cases] of groups) {
      const made = yield* Effect.either(compileSchema(JSON.stringify(schema)))
      if (Either.isLeft(made)) {
        const [{ message, path } = { message: "", path: "" }] = made.left.issues
        refused[group] = path === "" ? ` ${message}` : path
        continue
      }
      for (const [description, data, valid] of cases) {
        const issues = made.right.issuesOf(data, { left: STEPS })
        if ((issues.length === 0) === valid) right++
        else wrong.push([file, group, description, issues])
      }
    }

    expect(wrong).toEqual([])
    expect(right).toBeGreaterThan(900)
    expect(Object.keys(refused).sort()).toEqual(Object.keys(REFUSED).sort())
    for (const [group, issue] of Object.entries(REFUSED)) expect(refused[group]).toContain(issue)
  })
)
