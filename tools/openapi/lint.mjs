/**
 * `tools/openapi/lint.mjs`: Redocly's rules over the committed document, as redocly.yaml configures them, where a warning fails
 * too; then each generator's client is made from it and compiled strictly. The documents of an event catalogue, as a test of
 * `domain` keeps them, pass Redocly's recommended rules and AsyncAPI's. Needs nothing but the documents.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const here = fileURLToPath(new URL(".", import.meta.url))
const document = join(here, "..", "..", "packages", "api-contract", "openapi.json")
const run = (program, ...words) => execFileSync(program, words, { cwd: here, stdio: "inherit" })
const bin = (name) => join(here, "node_modules", ".bin", name)

/** Each generator writes into `generated`, which tsconfig.json compiles. */
const generators = {
  "openapi-typescript": [document, "--output", "generated/openapi.ts"],
  "openapi-ts": ["--input", document, "--output", "generated/hey-api", "--client", "@hey-api/client-fetch"],
  orval: ["--input", document, "--output", "generated/orval.ts", "--client", "fetch"]
}

if (!existsSync(join(here, "node_modules")))
  run("npx", "--yes", "pnpm@12.21.0", "install", "--frozen-lockfile")
const { lint, loadConfig } = await import("@redocly/openapi-core")
/** Prints what is wrong with a document, and ends if anything is. */
const judge = (name, problems) => {
  for (const problem of problems) console.error(problem)
  console.log(`openapi:lint: ${name}: ${problems.length} problems`)
  if (problems.length > 0) process.exit(1)
}
const openApi = async (name, ref, configFile) => {
  const config = await loadConfig({ configPath: join(here, configFile) })
  const problems = await lint({ ref, config })
  judge(
    name,
    problems.map(({ location, message, ruleId }) => `${location[0]?.pointer ?? ""} ${ruleId}: ${message}`)
  )
}
const catalogue = (name) =>
  join(here, "..", "..", "packages", "domain", "test", "catalogue", "corpora", `${name}.json`)

await openApi("openapi.json", document, "redocly.yaml")
await openApi("catalogue as OpenAPI", catalogue("openapi"), "catalogue.yaml")
const { default: asyncApi } = await import("@asyncapi/parser")
const said = await new asyncApi.Parser().validate(readFileSync(catalogue("asyncapi"), "utf8"))
judge(
  "catalogue as AsyncAPI",
  // 2 and 3 are advice, such as to use the newest version.
  said
    .filter(({ severity }) => severity < 2)
    .map(({ code, message, path }) => `/${path.join("/")} ${code}: ${message}`)
)
for (const [name, words] of Object.entries(generators)) run(bin(name), ...words)
run(bin("tsc"), "--project", "tsconfig.json")
