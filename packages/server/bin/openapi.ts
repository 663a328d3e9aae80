/**
 * Writes the OpenAPI document to packages/api-contract/openapi.json; with `--check` says whether it is up to date.
 *
 * The file is the same on every machine: its server is a placeholder, and its version is the program's.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { openApiDocument } from "../src/http/OpenApiDocument.ts"

const file = new URL("../../api-contract/openapi.json", import.meta.url)
const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"))
const document = openApiDocument({ baseUrl: "https://posthorn.example.net", version })
const text = `${JSON.stringify(document, null, 2)}\n`

const current = () => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

if (!process.argv.includes("--check")) {
  writeFileSync(file, text)
  console.log(`openapi.json: ${Object.keys(document.paths).length} paths`)
} else if (current() === text) {
  console.log("openapi.json is up to date")
} else {
  console.error("openapi.json is not what the contract says: run `npm run generate` and commit it")
  process.exit(1)
}
