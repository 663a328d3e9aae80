/**
 * Checks `docker/` as far as that goes without an engine: the image's second stage is acted out in an empty folder (only
 * what it copies is there, and its user can write nothing), its roles run a whole installation from there
 * (`ImageTrial.mjs`), its size is added up, and compose.yaml asks for every secret with advice.
 *
 * Does not check: that the base images exist, that the build's commands run in them. Where `docker compose` is
 * installed, it judges compose.yaml as well.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync
} from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { bundle, bundledFiles } from "./bundle.mjs"
import { buildConsole } from "./console.mjs"
import { tryImage } from "./ImageTrial.mjs"
import { ensureInstalled, root } from "./install.mjs"

const dockerfile = readFileSync(join(root, "docker", "Dockerfile"), "utf8")
const compose = readFileSync(join(root, "docker", "compose.yaml"), "utf8")

const ignored = readFileSync(join(root, "docker", "Dockerfile.dockerignore"), "utf8").split("\n")

/** By line of Node, from its release schedule. */
const MAINTAINED_UNTIL = { 22: "2027-04-30", 24: "2028-04-30", 26: "2029-04-30" }

let problems = 0
const check = (what, holds) => {
  if (!holds) problems += 1
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`)
}

/** Instructions as `[name, rest]`, continued lines joined. */
const instructions = dockerfile
  .replace(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line.trim() !== "" && !line.startsWith("#"))
  .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)])

const lastStage = instructions.slice(instructions.findLastIndex(([name]) => name === "FROM"))
const rest = (wanted) => lastStage.find(([name]) => name === wanted)?.[1] ?? ""

const healthCommand = () => JSON.parse(rest("HEALTHCHECK").slice(rest("HEALTHCHECK").indexOf("[")))

/** What its ENV sets; comments between the lines are Docker's to skip. */
const imageEnvironment = () =>
  Object.fromEntries(
    rest("ENV")
      .replace(/#[^\n]*?(?=[A-Z_]+=)/g, "")
      .trim()
      .split(/\s+/)
      .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)])
  )

/** Answers `/health/live` with the given status and tells how the image's health check ends. */
const healthCheck = async (status) => {
  const server = createServer((request, response) =>
    response.writeHead(request.url === "/health/live" ? status : 404).end()
  )
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const [command, ...args] = healthCommand()
  const child = spawn(command, args, { env: { PATH: process.env.PATH, PORT: String(server.address().port) } })
  const code = await new Promise((resolve) => child.once("exit", resolve))
  server.close()
  return code
}

const checkFiles = () => {
  const sources = instructions
    .filter(([name, text]) => name === "COPY" && !text.startsWith("--from"))
    .map(([, text]) => text.split(" ")[0])
  check(
    "every file that the image copies exists",
    sources.every((source) => existsSync(join(root, source)))
  )
  check("the image runs as an ordinary user", !["", "root", "0"].includes(rest("USER")))
  const [, line, debian] = /^FROM node:(\d+)-(\w+)-slim AS build$/m.exec(dockerfile) ?? []
  check("the image is the Debian that its Node was taken from", rest("FROM") === `debian:${debian}-slim`)
  check(`Node ${line} is still maintained`, Date.now() < Date.parse(MAINTAINED_UNTIL[line]))
  check("no .env file of any folder comes near the image", ignored.includes("**/.env"))
}

/** Bytes of what lies beneath: debootstrap's smallest bookworm without documentation, and Node 24.21.0 for x64. */
const BENEATH = 75_400_000 + 126_600_000
const LARGEST = 250_000_000

/** What the last stage copies. */
const layOut = () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-image-"))
  chmodSync(folder, 0o755)
  for (const file of bundledFiles()) cpSync(file, join(folder, relative(join(root, "build"), file)))
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
  return folder
}

const bytesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)

const checkSize = (folder) => {
  const bytes = bytesIn(folder)
  const megabytes = (n) => (n / 1e6).toFixed(1)
  check(
    `the image has ${megabytes(bytes + BENEATH)} MB, ${megabytes(bytes)} of them Posthorn's: below ${LARGEST / 1e6}`,
    bytes + BENEATH < LARGEST
  )
}

const checkRoles = (folder) => {
  const posthorn = (...args) =>
    spawnSync(process.execPath, [join(folder, "posthorn.mjs"), ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, NODE_ENV: "production" },
      encoding: "utf8"
    })
  check("the bundle runs without node_modules", posthorn("--version").status === 0)
  const roles = [...compose.matchAll(/command: \[(\w+)\]/g)].map((match) => match[1])
  for (const role of new Set([...roles, JSON.parse(rest("CMD"))[0]])) {
    const { status, stderr, stdout } = posthorn(role)
    const lines = `${stdout}${stderr}`.trim().split("\n")
    check(
      `posthorn ${role} without its settings says which, and stops`,
      status === 1 && lines.every((line) => line.includes(" is not set"))
    )
  }
}

const checkCompose = () => {
  const secrets = [...compose.matchAll(/\$\{(\w+)([^}]*)\}/g)]
  check(
    "compose.yaml says how to make each secret",
    secrets.every(([, , advice]) => /^:[?-]./.test(advice))
  )
  const given = Object.fromEntries(secrets.map(([, name]) => [name, "x"]))
  try {
    execFileSync("docker", ["compose", "version"], { stdio: "ignore" })
  } catch {
    return console.log("--   docker compose is not installed: compose.yaml was not parsed")
  }
  const { status } = spawnSync(
    "docker",
    ["compose", "-f", join(root, "docker", "compose.yaml"), "config", "-q"],
    {
      env: { ...process.env, ...given },
      stdio: "inherit"
    }
  )
  check("docker compose accepts compose.yaml", status === 0)
}

ensureInstalled()
await bundle()
buildConsole()
checkFiles()
const folder = layOut()
try {
  checkSize(folder)
  checkRoles(folder)
  for (const [what, holds] of await tryImage(folder, imageEnvironment(), healthCommand())) check(what, holds)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
check("the health check passes when the server is live", (await healthCheck(200)) === 0)
check("the health check fails when it is not", (await healthCheck(503)) === 1)
checkCompose()
process.exit(problems === 0 ? 0 : 1)
