/**
 * Writes what the clients in TypeScript, Python and Go know of the contract, from `packages/api-contract/openapi.json`:
 * `npm run clients`. With `--check` it writes nothing and fails when a file is not what it would write.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { readDocument } from "./Document.ts"
import * as Go from "./Go.ts"
import * as Python from "./Python.ts"
import * as TypeScript from "./TypeScript.ts"

const files = {
  "packages/sdk/src/generated.ts": () => TypeScript.typeScript(readDocument(TypeScript.RESERVED)),
  "packages/sdk/python/src/posthorn/_generated.py": () => Python.python(readDocument(Python.RESERVED)),
  "packages/sdk/go/generated.go": () => Go.go(readDocument(Go.RESERVED))
}

const root = new URL("../../../", import.meta.url)
const isCheck = process.argv.includes("--check")
const stale = Object.entries(files).filter(([path, written]) => {
  const file = new URL(path, root)
  const text = written()
  if (!isCheck) writeFileSync(file, text)
  return isCheck && readFileSync(file, "utf8") !== text
})
for (const [path] of stale) console.error(`${path} is not what the contract says: run \`npm run clients\``)
if (stale.length > 0) process.exit(1)
