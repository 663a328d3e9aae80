/**
 * A vitest reporter for the last lines of `npm test`: it counts tests, and names those that passed only at the second try. A
 * test file that could not be loaded counts as one failure, because its tests are unknown.
 */
import { writeFileSync } from "node:fs"
import { relative } from "node:path"

const countOf = (module) => {
  const states = [...module.children.allTests()].map((test) => test.result().state)
  const number = (state) => states.filter((each) => each === state).length
  const unloaded = module.state() === "failed" && !states.includes("failed") ? 1 : 0
  return {
    passed: number("passed"),
    failed: number("failed") + unloaded,
    skipped: number("skipped") + number("pending")
  }
}

export default class TestCount {
  onTestRunEnd(modules) {
    const counts = modules.map(countOf)
    const sum = (key) => counts.reduce((total, count) => total + count[key], 0)
    const unsteady = modules.flatMap((module) =>
      [...module.children.allTests("passed")]
        .filter((test) => test.diagnostic()?.flaky === true)
        .map((test) => `${relative(process.cwd(), module.moduleId)}: ${test.fullName}`)
    )
    const totals = { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped"), unsteady }
    writeFileSync(process.env.POSTHORN_TEST_COUNT, JSON.stringify(totals))
  }
}
