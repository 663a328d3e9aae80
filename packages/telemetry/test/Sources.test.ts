/** What the sources of these packages must not do; each exception has a reason. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const packages = fileURLToPath(new URL("../../", import.meta.url))
const ROOMS = ["capabilities", "cli", "domain", "persistence", "telemetry"]

// Only sources: the links of `node_modules` lead in circles.
const sources = ROOMS.flatMap((room) =>
  readdirSync(`${packages}${room}/src`, { recursive: true, encoding: "utf8" }).map(
    (path) => `${room}/src/${path}`
  )
).filter((path) => path.endsWith(".ts"))
const code = (path: string) =>
  readFileSync(`${packages}${path}`, "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")
const holding = (pattern: RegExp, allowed: Readonly<Record<string, string>>) =>
  sources.filter((path) => pattern.test(code(path)) && !Object.hasOwn(allowed, path))

it("§12 the time is read from Effect's Clock, so that a test can set it", () => {
  const allowed = {
    "domain/src/Ids.ts": "ids are made outside of Effect, too, and sort by the machine's time"
  }
  expect(holding(/\bperformance\.now\(|\bDate\.now\(|\bnew Date\(\)/, allowed)).toEqual([])
})

it("§12 nothing runs outside of Effect's runtime", () => {
  const allowed = {
    "persistence/src/client/DatabaseClock.ts": "a lane asks for the time where no effect runs",
    "telemetry/src/Elapsed.ts": "the ownership of shards is reckoned where no effect runs",
    "telemetry/src/Meters.ts": "callbacks of drivers count, too"
  }
  expect(holding(/\bunsafe[A-Z]\w*\(|\bgetCurrentFiber\b|Symbol\.for\("effect/, allowed)).toEqual([])
})
