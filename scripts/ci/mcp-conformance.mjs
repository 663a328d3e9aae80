/**
 * `scripts/ci/mcp-conformance.mjs`: the official MCP conformance suite, three times.
 *
 * The first run is against `posthorn dev` on a temporary folder, through a loopback proxy that adds the bearer token, which
 * the suite cannot send. The other two, one for each revision of the protocol, run against the same adapter with the suite's
 * own fixtures instead of our tools, because some scenarios call tools by the suite's names. tools/mcp-conformance lists
 * scenarios that do not apply, each with its reason. A scenario that fails and is not listed fails the run, and so does one
 * that is listed and passes. The suite needs Node 22, which npx fetches. Where the suite cannot be fetched, the run is
 * skipped and says so.
 */
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, request as forward } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundle, bundleFile } from "../bundle.mjs"
import { ensureInstalled, root } from "../install.mjs"

const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
const REVISION = "2025-11-25"
const NEWEST = "2026-07-28"
const expected = (file) => join(root, "tools", "mcp-conformance", file)
const START_MS = 60_000

const cleanUps = []
const end = async (code) => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
  process.exit(code)
}

const canBeHad = () => {
  const found = spawnSync("npm", ["view", "--fetch-retries=0", SUITE, "version"], {
    encoding: "utf8",
    timeout: 30_000
  })
  return found.status === 0 && found.stdout.trim() !== ""
}

/** Starts a program; gives what `pattern` matches in its output. */
const start = (args, env, pattern) => {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env }
  })
  const gone = new Promise((resolve) => child.once("exit", resolve))
  cleanUps.push(() => {
    child.kill("SIGTERM")
    return gone
  })
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${args[0]} did not start in time`)), START_MS)
    child.once("exit", (code) => reject(new Error(`${args[0]} ended with ${code}`)))
    let said = ""
    child.stdout.on("data", (chunk) => {
      said += chunk
      const match = pattern.exec(said)
      if (match === null) return
      clearTimeout(timer)
      resolve(match)
    })
  })
}

/** A demo installation; its start-up text contains the URL and the token. */
const startServer = async () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-mcp-"))
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }))
  const env = { DATA_DIR: folder, PORT: "0", RATE_LIMIT_MCP: "off", LOG_LEVEL: "warning" }
  const pattern = /(http:\S+)\/mcp --header "Authorization: Bearer (\S+)"/
  const [, url, token] = await start([bundleFile, "dev"], env, pattern)
  return { url, token }
}

const startFixtures = async () => {
  const tsx = join(root, "node_modules", "tsx", "dist", "cli.mjs")
  const server = join("packages", "server", "test", "mcp", "ConformanceServer.ts")
  const [url] = await start([tsx, server], {}, /http:\S+/)
  return url
}

/** Adds the token, and replaces the proxy's host name by the server's. */
const startProxy = ({ token, url }) => {
  const target = new URL(url)
  const proxy = createServer((request, response) => {
    const own = request.socket.localPort
    const renamed = (text) =>
      text?.replace(
        new RegExp(`^(https?://)?(127\\.0\\.0\\.1|localhost):${own}$`),
        (_, scheme = "") => `${scheme}${target.host}`
      )
    const headers = {
      ...request.headers,
      authorization: `Bearer ${token}`,
      host: renamed(request.headers.host)
    }
    if (headers.origin !== undefined) headers.origin = renamed(headers.origin)
    const { hostname, port } = target
    const sent = forward({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    })
    sent.on("error", () => response.writeHead(502).end())
    request.pipe(sent)
  })
  cleanUps.push(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return new Promise((resolve) => proxy.listen(0, "127.0.0.1", () => resolve(proxy.address().port)))
}

/** The suite gets the Node 22 that it needs, but npm checks the requirement against its own Node. */
const npxEnvironment = {
  ...process.env,
  npm_config_engine_strict: "false",
  npm_config_loglevel: "error",
  npm_config_update_notifier: "false"
}

const runSuite = (url, baseline, revision = REVISION) => {
  const given = process.argv.slice(2)
  const all = ["--requirements", revision, "--expected-failures", expected(baseline)]
  const command = ["conformance", "server", "--url", `${url}/mcp`, ...(given.length > 0 ? given : all)]
  const child = spawn("npx", ["-y", "-p", "node@22", "-p", SUITE, ...command], {
    cwd: tmpdir(),
    stdio: "inherit",
    env: npxEnvironment
  })
  return new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)))
}

const verdict = (code) => (code === 0 ? "as expected" : "NOT as expected")

if (!canBeHad()) {
  console.log(`mcp:conformance skipped: ${SUITE} cannot be had from the package registry here.`)
  process.exit(0)
}
ensureInstalled()
await bundle()
try {
  const port = await startProxy(await startServer())
  const real = await runSuite(`http://127.0.0.1:${port}`, "expected-failures.yml")
  const fixtures = await startFixtures()
  const adapter = await runSuite(fixtures, "adapter-expected-failures.yml")
  const newest = await runSuite(fixtures, "adapter-expected-failures-2026-07-28.yml", NEWEST)
  console.log(
    `mcp:conformance: server ${verdict(real)}, adapter with fixtures ${verdict(adapter)}, and in ${NEWEST} ${verdict(newest)}`
  )
  await end(real === 0 && adapter === 0 && newest === 0 ? 0 : 1)
} catch (error) {
  console.error(`mcp:conformance: ${error.message}`)
  await end(1)
}
