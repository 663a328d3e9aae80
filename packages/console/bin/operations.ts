/**
 * Writes `src/api/operations.ts`: method, path, permission and pages of every operation, read from the contract. A test compares
 * the file with the contract.
 */
import { writeFileSync } from "node:fs"
import { pagesWith } from "@posthorn/api-contract/ConsolePages"
import { entries } from "@posthorn/api-contract/Contract"

const file = new URL("../src/api/operations.ts", import.meta.url)

export const table = Object.fromEntries(
  entries.map(({ method, name, path, rules }) => [
    name,
    [method, path, rules.permission, pagesWith(name).join(" ")]
  ])
)

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const lines = Object.entries(table).map(([name, parts]) => `  ${name}: ["${parts.join('", "')}"]`)
  writeFileSync(
    file,
    `/** Written by bin/operations.ts from the contract: run \`npm run generate\`. */
export const operations = {
${lines.join(",\n")}
} as const
`
  )
}
