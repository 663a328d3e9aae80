/**
 * Tries what scripts/artifacts.mjs made: installs each from the folder alone into an empty one, starts the
 * installed command, and has every client register an endpoint, publish an event and verify what arrives
 * (packages/sdk/examples). `node scripts/try-artifacts.mjs [dist]`.
 *
 * npm brings what the packages need of others; nothing else comes from the network.
 */
import { execFile, spawn } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const PYTHON = process.env.PYTHON ?? "/usr/bin/python3"
const EXAMPLES = fileURLToPath(new URL("../packages/sdk/examples", import.meta.url))

const bare = { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: "1" }

const run = async (cwd, command, args, env = {}) => {
  try {
    return (await promisify(execFile)(command, args, { cwd, env: { ...bare, ...env } })).stdout
  } catch (error) {
    throw new Error(
      `${command} ${args.join(" ")} failed:\n${error.stdout ?? ""}${error.stderr ?? error.message}`
    )
  }
}

const startDev = (cwd) => {
  const child = spawn("node_modules/.bin/posthorn", ["dev"], {
    cwd,
    env: { ...bare, PORT: "0", DATA_DIR: join(cwd, "data") },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ready = new Promise((resolve, reject) => {
    let said = ""
    const heard = (chunk) => {
      said += chunk
      const [, url, token] =
        /export POSTHORN_URL=(\S+) POSTHORN_TOKEN=(\S+)[\s\S]*Ctrl-C stops/.exec(said) ?? []
      if (url !== undefined) resolve({ POSTHORN_URL: url, POSTHORN_TOKEN: token, POSTHORN_WORKSPACE: "acme" })
    }
    child.stdout.on("data", heard)
    child.stderr.on("data", heard)
    child.once("exit", (code) => reject(new Error(`posthorn dev ended with ${code}:\n${said}`)))
  })
  return { child, ready }
}

const stopped = async ({ child }) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGTERM")
  await ended
}

/** Each language: how it is installed from the folder, and how its example runs. */
const languages = {
  typescript: {
    install: async () => undefined,
    first: async (folder, env) => {
      cpSync(join(EXAMPLES, "first.mjs"), join(folder, "first.mjs"))
      return await run(folder, process.execPath, ["first.mjs"], env)
    }
  },
  python: {
    install: async (folder, dist) => {
      const wheel = readdirSync(dist).find((name) => name.endsWith(".whl"))
      await run(folder, PYTHON, ["-m", "venv", "--system-site-packages", "venv"])
      const words = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]
      await run(folder, "venv/bin/python", [...words, join(dist, wheel)])
    },
    first: (folder, env) => {
      cpSync(join(EXAMPLES, "first.py"), join(folder, "first.py"))
      return run(folder, "venv/bin/python", ["first.py"], env)
    }
  },
  go: {
    install: async (folder, dist) => {
      const version = readdirSync(join(dist, "go/github.com/posthorn/posthorn-go/@v"))
        .find((name) => name.endsWith(".mod"))
        .slice(0, -4)
      mkdirSync(join(folder, "go"))
      cpSync(join(EXAMPLES, "go/main.go"), join(folder, "go/main.go"))
      const require = `module first\n\ngo 1.19\n\nrequire github.com/posthorn/posthorn-go ${version}\n`
      writeFileSync(join(folder, "go/go.mod"), require)
      const env = {
        GOPROXY: `file://${dist}/go`,
        GOSUMDB: "off",
        GOFLAGS: "-mod=mod",
        GOPATH: join(folder, "gopath")
      }
      await run(join(folder, "go"), "go", ["build", "-modcacherw", "-o", "first", "."], env)
    },
    first: (folder, env) => run(join(folder, "go"), "./first", [], env)
  }
}

/** What each example printed, by language; throws with what failed. */
export const tryArtifacts = async (dist) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-tried-"))
  let dev
  try {
    writeFileSync(join(folder, "package.json"), "{}")
    const packed = readdirSync(dist).filter((name) =>
      /^posthorn(-sdk|-signature|-client|-embed)?-\d.*\.tgz$/.test(name)
    )
    const options = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]
    await run(folder, "npm", ["install", ...options, ...packed.map((name) => join(dist, name))])
    await run(folder, process.execPath, [
      "--input-type=module",
      "--eval",
      'import "@posthorn/client"; import "@posthorn/embed"'
    ])
    for (const { install } of Object.values(languages)) await install(folder, dist)
    dev = startDev(folder)
    const env = await dev.ready
    const said = {}
    for (const [name, { first }] of Object.entries(languages)) said[name] = (await first(folder, env)).trim()
    return said
  } finally {
    if (dev !== undefined) await stopped(dev)
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, said] of Object.entries(await tryArtifacts(resolve(process.argv[2] ?? "dist"))))
    console.log(`${name.padEnd(12)}${said}`)
