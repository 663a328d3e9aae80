/** `npm run attack -- <name> [options]`: runs one of scripts/attack, each of which says at its head what it breaks and checks. */
import { existsSync } from "node:fs"

const [name = ""] = process.argv.splice(2, 1)
const file = new URL(`attack/${name}.ts`, import.meta.url)
if (!/^[a-z-]+$/.test(name) || !existsSync(file)) {
  console.error(
    "attack: chaos, failover, upgrade, mutate-sql or simulate, such as: npm run attack -- chaos --seed 7"
  )
  process.exit(2)
}
await import(file.href)
