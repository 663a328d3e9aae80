/**
 * Installs the workspace when it differs from the lockfile, so that `npm start` and `npm test` work in a fresh clone.
 *
 * Running Posthorn takes 160 packages, building and testing it four times as many. In a fresh clone `npm start` installs
 * only the former.
 *
 * Guarantees: when everything is up to date, which a stamp in node_modules tells in 3 ms, nothing is run or printed. pnpm is
 * the version that package.json pins. A failure shows pnpm's output and ends with one line of our own.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("..", import.meta.url))

const stampFile = join(root, "node_modules", ".posthorn-install")

const manifests = () => [
  "package.json",
  ...readdirSync(join(root, "packages")).map((name) => join("packages", name, "package.json"))
]

/** The files that decide the result of an install. When one changes, the stamp no longer matches. */
const fingerprint = () => {
  const hash = createHash("sha256")
  for (const file of ["pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ...manifests()]) {
    const path = join(root, file)
    hash.update(`${file}\0`).update(existsSync(path) ? readFileSync(path) : "")
  }
  return hash.update(`${process.platform} ${process.arch} ${process.versions.modules}`).digest("hex")
}

/** Ends the stamp of a complete installation. */
const EVERYTHING = " everything"

/** Ends the stamp of an installation for running Posthorn and building the console. */
const CONSOLE = " console"

const isCurrent = (wanted, toRun, withConsole) => {
  const stamp = existsSync(stampFile) ? readFileSync(stampFile, "utf8") : ""
  const sufficient = [EVERYTHING, ...(toRun ? [CONSOLE] : []), ...(toRun && !withConsole ? [""] : [])]
  return sufficient.some((suffix) => stamp === wanted + suffix)
}

/** The pnpm that runs us (`pnpm start`), if it is the pinned version; else npx fetches it. */
const pnpm = (version) => {
  const runner = process.env.npm_execpath ?? ""
  const agent = process.env.npm_config_user_agent ?? ""
  if (agent.startsWith(`pnpm/${version} `) && existsSync(runner)) {
    return /\.[cm]?js$/.test(runner) ? [process.execPath, runner] : [runner]
  }
  return ["npx", "--yes", `pnpm@${version}`]
}

/** The bundler, which belongs to the root, and the dependencies of the command's packages. */
const TO_RUN = ["--prod", "--filter", "posthorn", "--filter-prod", "@posthorn/cli..."]

/** The same, and what builds the console. */
const FOR_CONSOLE = ["--filter-prod", "@posthorn/console..."]

const options = (toRun, withConsole) => [
  "install",
  ...(toRun ? TO_RUN : []),
  ...(toRun && withConsole ? FOR_CONSOLE : []),
  "--frozen-lockfile",
  "--reporter=append-only",
  // More lookups and connections at once make some resolvers drop answers: pnpm then waits out their 5 s timeout.
  "--network-concurrency=16",
  // CI checks whether a locked version is too young or has lost its provenance. That check reads 96 MB of registry metadata;
  // a clone installs exactly what was checked, by its hashes.
  ...(process.env.CI ? [] : ["--trust-lockfile"])
]

/** No questions (CI), and no look-up of a newer npm, which delayed npx's exit by 4 s. */
const environment = () => ({
  ...process.env,
  CI: "true",
  npm_config_update_notifier: "false",
  npm_config_loglevel: "error"
})

/** Runs the pinned pnpm with these arguments in the workspace. */
export const runPnpm = (args) => {
  const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const version = packageManager.slice(packageManager.indexOf("@") + 1).split("+")[0]
  const [command, ...before] = pnpm(version)
  return spawnSync(command, [...before, ...args], {
    cwd: root,
    env: environment(),
    encoding: "utf8"
  })
}

const fail = (result) => {
  const said = `${result.stdout ?? ""}${result.stderr ?? ""}`.trim()
  if (said) console.error(said)
  const why = result.error
    ? result.error.message
    : result.signal
      ? `ended by ${result.signal}`
      : `exit code ${result.status}`
  console.error(
    `posthorn: the installation failed (${why}). Fix what pnpm says above and run the command again.`
  )
  process.exit(result.status || 1)
}

/** `toRun`: install only what running Posthorn needs; `withConsole`: also what builds the console. */
export const ensureInstalled = ({ toRun = false, withConsole = false } = {}) => {
  const [major, minor] = process.versions.node.split(".").map(Number)
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`posthorn: Node ${process.versions.node} is too old. Install Node 20.19 or newer.`)
    process.exit(1)
  }
  const wanted = fingerprint()
  if (isCurrent(wanted, toRun, withConsole)) return
  const what = withConsole
    ? "what builds the console"
    : toRun
      ? "what running Posthorn needs"
      : "the workspace"
  console.log(`Installing ${what} (once, and again when the lockfile changes) …`)
  rmSync(stampFile, { force: true })
  const result = runPnpm(options(toRun, withConsole))
  if (result.status !== 0) fail(result)
  writeFileSync(stampFile, wanted + (withConsole ? CONSOLE : toRun ? "" : EVERYTHING))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensureInstalled()
