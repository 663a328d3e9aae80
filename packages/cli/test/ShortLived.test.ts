/** What a server's garbage costs: objects that nobody keeps are made among the young ones, whatever V8 has seen before. */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** 50,000 objects of 100 bytes: Node 20 makes 3.7 MB of them among the old ones without the setting, and none with it. */
const MOST_BYTES = 500_000

describe("ShortLived", () => {
  it("decision §1 makes what a request needs among the young objects, also when requests lived long at first", () => {
    const printed = execFileSync(at("../../../node_modules/.bin/tsx"), [at("./ShortLivedProcess.ts")])
    const { bytes, made } = JSON.parse(printed.toString()) as {
      readonly bytes: number
      readonly made: number
    }
    assert.strictEqual(made, 50_000)
    assert.isBelow(bytes, MOST_BYTES)
  })
})
