/**
 * `.env.example`: every variable with its purpose and default, generated from the definitions; `bin/env-example.ts` writes it.
 */
import { shellWord, type Variable, variables } from "./Variables.ts"

const HEAD = `# The settings of Posthorn; docs/settings.md says more. Made by: npm run generate
# What has a # in front is a default, or an example of what is off. Posthorn reads its environment, no file: after
# cp .env.example .env, a shell takes it by: set -a; . ./.env; set +a
`

/** Required by serve and work. */
const NEEDED: ReadonlySet<string> = new Set(["DATABASE_URL", "ENCRYPTION_KEY", "OPERATOR_TOKEN"])

const entry = (name: string, { about, example = "", standard }: Variable) => {
  const command = /^\$\((.*)\)$/.exec(example)?.[1]
  const value = standard === undefined ? (command === undefined ? example : "") : shellWord(standard)
  const how = command === undefined ? "" : `; make one with ${command}`
  return `# ${about}${how}\n${NEEDED.has(name) ? "" : "# "}${name}=${value}\n`
}

export const envExample = (): string =>
  [HEAD, ...Object.entries(variables as Readonly<Record<string, Variable>>).map((one) => entry(...one))].join(
    "\n"
  )
