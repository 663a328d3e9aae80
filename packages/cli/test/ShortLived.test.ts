/** What lasts no longer than a request does not lie among the old objects, whatever V8 and Effect would do by themselves. */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, beforeAll, describe, it } from "vitest"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** 50,000 objects of 100 bytes: Node 20 makes 1.9 to 3.7 MB of them among the old ones by itself, and none with the setting. */
const MOST_BYTES = 500_000

interface Printed {
  readonly made: number
  readonly bytes: number
  readonly isRunning: boolean
  readonly roots: number
}

describe("ShortLived", () => {
  let printed: Printed

  beforeAll(() => {
    const text = execFileSync(at("../../../node_modules/.bin/tsx"), [at("./ShortLivedProcess.ts")])
    printed = JSON.parse(text.toString())
  }, 60_000)

  it("decision §1 makes what a request needs among the young objects, also when the first ones lived long", () => {
    assert.strictEqual(printed.made, 50_000)
    assert.isBelow(printed.bytes, MOST_BYTES)
  })

  it("decision §1 keeps no list of fibers, whose old tables would hold the requests that they belonged to", () => {
    assert.deepInclude(printed, { isRunning: true, roots: 0 })
  })
})
