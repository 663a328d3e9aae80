/** `npm run openapi:lint`: Spectral and Redocly over the committed document; a warning fails as an error does. */
import { bin, document, install, run } from "./run.mjs"

await install()
try {
  await run(bin("spectral"), ["lint", "--ruleset", "spectral.yaml", "--fail-severity", "hint", document])
  await run(bin("redocly"), ["lint", "--config", "redocly.yaml", "--max-problems", "100", document])
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
