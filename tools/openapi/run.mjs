/** Runs a program of this project; if it fails, ends with the program's output. */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const here = dirname(fileURLToPath(import.meta.url))
export const root = join(here, "..", "..")
export const document = join(root, "packages", "api-contract", "openapi.json")

export const run = (command, args, options = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: here, stdio: "inherit", ...options })
    child.once("error", reject)
    child.once("exit", (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`${command.split("/").pop()} ${args.join(" ")} ended with ${code}`))
    )
  })

export const bin = (name) => join(here, "node_modules", ".bin", name)

/** Installs what the lockfile says, once. */
export const install = async () => {
  if (existsSync(bin("oazapfts"))) return
  await run("npx", ["--yes", "pnpm@12.21.0", "install", "--frozen-lockfile"])
}
