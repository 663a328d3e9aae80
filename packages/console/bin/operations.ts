/**
 * Writes `src/api/operations.ts`: method, path and permission of every operation, read off the contract. With `--check`
 * it only says whether the file is as the contract has it.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { entries } from "@posthorn/api-contract/Walk"

const file = new URL("../src/api/operations.ts", import.meta.url)

const line = ({ method, name, path, rules }: (typeof entries)[number]) =>
  `  ${name}: ["${method}", "${path}", "${rules.permission}"]`

export const text = `/** Written by bin/operations.ts from the contract: run \`npm run console:operations\`. */
export const operations = {
${entries.map(line).join(",\n")}
} as const
`

if (process.argv[1] === new URL(import.meta.url).pathname) {
  if (!process.argv.includes("--check")) writeFileSync(file, text)
  else if (readFileSync(file, "utf8") !== text) {
    console.error("packages/console/src/api/operations.ts is stale: run npm run console:operations")
    process.exitCode = 1
  }
}
