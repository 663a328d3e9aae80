/**
 * A package as users get it: packed by scripts/pack.mjs, installed by npm into an empty folder, run by plain Node. Nothing of
 * the repository is reachable there, so missing files show.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const run = promisify(execFile)

export interface Installed {
  readonly folder: string
  /** Writes a file there. */
  readonly write: (name: string, text: string) => void
  /** Starts Node there, with only PATH and HOME of our environment, and the given variables. */
  readonly node: (args: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) => ChildProcess
}

/** Installs it with the extra packages (`name@version`); the folder is removed with the scope. */
export const installPacked = (
  name: "client" | "embed" | "posthorn" | "sdk" | "signature",
  ...extras: ReadonlyArray<string>
) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Installed> => {
      const folder = mkdtempSync(join(tmpdir(), `posthorn-installed-${name}-`))
      await run(process.execPath, ["scripts/pack.mjs", join(folder, "packed"), name], { cwd: root })
      const [tarball] = readdirSync(join(folder, "packed"))
      writeFileSync(join(folder, "package.json"), "{}")
      const options = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]
      await run("npm", ["install", ...options, `./packed/${tarball}`, ...extras], { cwd: folder })
      return {
        folder,
        write: (file, text) => writeFileSync(join(folder, file), text),
        node: (args, env = {}) =>
          spawn(process.execPath, [...args], {
            cwd: folder,
            env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
            stdio: ["ignore", "pipe", "pipe"]
          })
      }
    }),
    ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

/** What it printed, and its exit code. */
export const ended = (child: ChildProcess) =>
  Effect.async<{ readonly code: number | null; readonly out: string; readonly err: string }>((resume) => {
    let [out, err] = ["", ""]
    child.stdout?.on("data", (chunk) => (out += chunk))
    child.stderr?.on("data", (chunk) => (err += chunk))
    child.once("close", (code) => resume(Effect.succeed({ code, out, err })))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

/** The first block of that language in a package's README. */
export const readmeBlock = (name: string, language: string) => {
  const text = readFileSync(join(root, "packages", name, "README.md"), "utf8")
  const block = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "m").exec(text)?.[1]
  if (block === undefined) throw new Error(`the README of ${name} has no block of ${language}`)
  return block
}

/** The version that the workspace pins of a dependency, as `name@version`. */
export const pinned = (dependency: string) => {
  const line = readFileSync(join(root, "pnpm-workspace.yaml"), "utf8")
    .split("\n")
    .find((text) => text.trim().replaceAll('"', "").startsWith(`${dependency}: `))
  return `${dependency}@${line?.slice(line.lastIndexOf(" ") + 1)}`
}
