/**
 * Builds the web console into `build/console/`, where the server finds it; does nothing when no source is newer.
 *
 * `npm start` runs this beside itself, at the lowest priority, so that the first webhook does not wait for it. Until it is
 * done, the server shows a waiting page. The build goes into a folder of its own and is renamed into place, so that nobody
 * reads half of it.
 */
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs"
import { constants, setPriority } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ensureInstalled, root } from "./install.mjs"
import { noticesOf } from "./Notices.mjs"

export const consoleFolder = join(root, "build", "console")

const SOURCES = ["console", "domain", "api-contract"].map((name) => join(root, "packages", name))

/** The latest change of a file or of anything in a folder. Removing a file changes its folder. */
const newest = (path) => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return readdirSync(path)
    .filter((name) => !["node_modules", "test", "bin"].includes(name))
    .reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs)
}

const isConsoleCurrent = () => {
  const index = join(consoleFolder, "index.html")
  return (
    existsSync(index) &&
    Math.max(...[...SOURCES, join(root, "pnpm-lock.yaml")].map(newest)) < statSync(index).mtimeMs
  )
}

/** The licences of the bundled packages, and of the fonts, which no module imports. */
const notices = {
  name: "notices",
  generateBundle() {
    const folder = join(root, "packages", "console", "node_modules", "@fontsource-variable")
    const fonts = readdirSync(folder).map((name) => join(folder, name, "index.css"))
    this.emitFile({
      type: "asset",
      fileName: "NOTICES.txt",
      source: noticesOf([...this.getModuleIds(), ...fonts])
    })
  }
}

const build = async (draft) => {
  const vite = new URL("../packages/console/node_modules/vite/dist/node/index.js", import.meta.url)
  const { build } = await import(vite.href)
  await build({
    configFile: join(root, "packages", "console", "vite.config.ts"),
    configLoader: "runner",
    plugins: [notices],
    build: { outDir: draft }
  })
}

const putInPlace = (draft, started) => {
  const old = `${draft}.old`
  // Dated like the sources it was read from: an edit made meanwhile is newer.
  utimesSync(join(draft, "index.html"), started, started)
  if (existsSync(consoleFolder)) renameSync(consoleFolder, old)
  renameSync(draft, consoleFolder)
  rmSync(old, { recursive: true, force: true })
}

const main = async () => {
  ensureInstalled({ toRun: true, withConsole: true })
  if (isConsoleCurrent()) return
  const started = new Date()
  const draft = join(root, "build", `console.${process.pid}`)
  mkdirSync(draft, { recursive: true })
  try {
    await build(draft)
    putInPlace(draft, started)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** React bundles its development build unless NODE_ENV is production, so set it whatever the environment says. */
const environment = { ...process.env, NODE_ENV: "production" }

/** Builds the console; it is in place when this returns. */
export const buildConsole = () => {
  if (isConsoleCurrent()) return
  const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url)], {
    cwd: root,
    env: environment,
    stdio: ["ignore", "ignore", "inherit"]
  })
  if (status !== 0) throw new Error("The console could not be built: see above.")
}

/** Builds in a process of its own, which ends with this one. */
export const buildConsoleBeside = () => {
  if (isConsoleCurrent()) return
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    cwd: root,
    env: environment,
    stdio: ["ignore", "ignore", "inherit"]
  })
  setPriority(child.pid, constants.priority.PRIORITY_LOW)
  child.unref()
  process.once("exit", () => child.kill())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.env.NODE_ENV = "production"
  await main().catch((error) => {
    console.error(`posthorn: the console could not be built: ${error.message}`)
    process.exitCode = 1
  })
}
