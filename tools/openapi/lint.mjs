/**
 * `tools/openapi/lint.mjs`: Redocly's rules over the committed document, as redocly.yaml configures them, where a warning fails
 * too; then each generator's client is made from it and compiled strictly. Needs nothing but the document.
 */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const here = fileURLToPath(new URL(".", import.meta.url))
const document = join(here, "..", "..", "packages", "api-contract", "openapi.json")
const run = (program, ...words) => execFileSync(program, words, { cwd: here, stdio: "inherit" })
const bin = (name) => join(here, "node_modules", ".bin", name)

/** Each generator writes into `generated`, which tsconfig.json compiles. */
const generators = {
  "openapi-typescript": [document, "--output", "generated/openapi.ts"]
}

if (!existsSync(join(here, "node_modules")))
  run("npx", "--yes", "pnpm@12.21.0", "install", "--frozen-lockfile")
const { lint, loadConfig } = await import("@redocly/openapi-core")
const config = await loadConfig({ configPath: join(here, "redocly.yaml") })
const problems = await lint({ ref: document, config })
for (const { location, message, ruleId } of problems)
  console.error(`${location[0]?.pointer ?? ""} ${ruleId}: ${message}`)
console.log(`openapi:lint: ${problems.length} problems`)
if (problems.length > 0) process.exit(1)
for (const [name, words] of Object.entries(generators)) run(bin(name), ...words)
run(bin("tsc"), "--project", "tsconfig.json")
