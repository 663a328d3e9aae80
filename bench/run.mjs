/**
 * `npm run bench`: sets itself up, measures, prints a table against the goals, writes results/ and a plot.
 * What is measured and how: docs/benchmarks.md.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const here = fileURLToPath(new URL(".", import.meta.url))

const install = () => {
  if (existsSync(`${here}node_modules/.modules.yaml`)) return
  const pnpm = ["--yes", "pnpm@12.21.0", "install", "--frozen-lockfile", "--prefer-offline"]
  const { status } = spawnSync("npx", pnpm, { cwd: here, stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

if (process.platform !== "linux") {
  process.stderr.write("bench: CPU and memory are read from Linux' /proc: run it on Linux.\n")
  process.exit(1)
}
install()
const { bundleAll } = await import("./src/Bundle.mjs")
await bundleAll()
const { main } = await import("./src/Main.mjs")
await main(process.argv.slice(2))
