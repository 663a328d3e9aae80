/** `posthorn.stands_at`: whether a payload has a given value at a given JSON Pointer. */
import assert from "node:assert/strict"
import { writeScenarios } from "./Stage.ts"

const scenarios = writeScenarios((it) => {
  it("stands_at: compares type and value at exactly this position; an invalid path is no match", async (stage) => {
    const standsAt = (payload: string, path: ReadonlyArray<string>, kind: string, value: string | null) =>
      stage.value("select posthorn.stands_at($1::json, $2, $3, $4)", payload, path, kind, value)
    for (const [payload, path, kind, value] of [
      ['{"a":1.0}', ["a"], "number", "1"],
      ['{"a":"1"}', ["a"], "string", "1"],
      ['{"a":null}', ["a"], "null", null],
      ['[[],{"0":true}]', ["1", "0"], "boolean", "true"],
      ['[[],{"01":[true]}]', ["1", "01", "0"], "boolean", "true"]
    ] as const)
      assert.equal(await standsAt(payload, path, kind, value), true, payload)
    for (const [payload, path, kind, value] of [
      ['{"a":1}', ["a"], "number", "2"],
      ['{"a":"2"}', ["a"], "string", "1"],
      ['{"a":1}', ["a"], "string", "1"],
      ['{"a":1}', ["a", "b"], "number", "1"],
      ["[1,2]", ["-1"], "number", "2"],
      ["[1,2]", ["01"], "number", "2"],
      ['{"a":[[1]]}', ["a", "00", "0"], "number", "1"],
      ['{"a":1}', ["01"], "null", null],
      ["[1,2]", ["12345678901"], "number", "2"],
      ['{"a":"\\u0000"}', ["a"], "string", "x"],
      ['{"a":1e999999}', ["a"], "number", "1"]
    ] as const)
      assert.notEqual(await standsAt(payload, path, kind, value), true, payload)
  })
})

export const standing = scenarios
