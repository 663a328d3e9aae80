/**
 * `npm run openapi:lint`: Redocly's rules over the committed document, as redocly.yaml configures them; a warning fails it
 * too.
 */
import { document, here, install } from "./run.mjs"

await install()
const { lint, loadConfig } = await import("@redocly/openapi-core")
const config = await loadConfig({ configPath: `${here}/redocly.yaml` })
const problems = await lint({ ref: document, config })
for (const { location, message, ruleId } of problems)
  console.error(`${location[0]?.pointer ?? ""} ${ruleId}: ${message}`)
console.log(`openapi:lint: ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
