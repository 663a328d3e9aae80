/**
 * Checks `docker/` as far as that goes without an engine: the image's second stage is acted out in an empty folder (only
 * what it copies is there), its roles and its health check are run, and compose.yaml asks for every secret with advice.
 *
 * Does not check: that the base images exist, that the build's commands run in them. Where `docker compose` is
 * installed, it judges compose.yaml as well.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundle } from "./bundle.mjs"
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

/** Answers `/health/live` with the given status and tells how the image's health check ends. */
const healthCheck = async (status) => {
  const server = createServer((request, response) =>
    response.writeHead(request.url === "/health/live" ? status : 404).end()
  )
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const [command, ...args] = JSON.parse(rest("HEALTHCHECK").slice(rest("HEALTHCHECK").indexOf("[")))
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
  const images = new Set(dockerfile.match(/^FROM \S+/gm))
  check("both stages build on the same Node", images.size === 1)
  const [, line] = /node:(\d+)/.exec([...images][0]) ?? []
  check(`Node ${line} is still maintained`, Date.now() < Date.parse(MAINTAINED_UNTIL[line]))
  check("no .env file of any folder comes near the image", ignored.includes("**/.env"))
}

const checkRoles = () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-image-"))
  cpSync(join(root, "build"), folder, { recursive: true, filter: (path) => !path.endsWith(".map") })
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
  rmSync(folder, { recursive: true, force: true })
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
checkFiles()
checkRoles()
check("the health check passes when the server is live", (await healthCheck(200)) === 0)
check("the health check fails when it is not", (await healthCheck(503)) === 1)
checkCompose()
process.exit(problems === 0 ? 0 : 1)
