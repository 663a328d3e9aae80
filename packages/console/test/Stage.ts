/**
 * The environment of the console's tests: the command as `serve` and `work` on a database of its own, a receiver whose
 * answer can be changed, and Debian's Chromium. All parts are real.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "@posthorn/testkit/FreePort"
import {
  dropDatabase,
  execute,
  randomName,
  type TestCluster,
  withDatabase
} from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import pg from "pg"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const main = join(root, "build", "posthorn.mjs")

export const OPERATOR_TOKEN = "operator-token-of-the-console-tests"

/** Builds command and console when they are older than their sources. */
export const build = async () => {
  const { bundle } = (await import(join(root, "scripts", "bundle.mjs"))) as { bundle: () => Promise<void> }
  const { buildConsole } = (await import(join(root, "scripts", "console.mjs"))) as {
    buildConsole: () => void
  }
  await bundle()
  buildConsole()
}

const said = (child: ChildProcess, text: string) =>
  new Promise<void>((resolve, reject) => {
    let out = ""
    const hear = (chunk: Buffer) => {
      out += chunk
      if (out.includes(text)) resolve()
    }
    child.stdout!.on("data", hear)
    child.stderr!.on("data", hear)
    child.once("exit", () => reject(new Error(`It ended without "${text}": ${out}`)))
  })

const ended = (child: ChildProcess) =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise<void>((resolve) => child.once("exit", () => resolve()))

/** Answers every webhook with `status`, and stores what it receives. */
export const startReceiver = async () => {
  const seen: Array<{ headers: IncomingMessage["headers"]; body: string }> = []
  const answer = { status: 200, body: "<h1>ok</h1><script>document.title = 'taken over'</script>" }
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    seen.push({ headers: request.headers, body })
    response.writeHead(answer.status, { "content-type": "text/html" }).end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hooks`, answer, seen, close: () => server.close() }
}

export interface Json {
  readonly [member: string]: unknown
}

export const startStage = async (
  cluster: TestCluster,
  environment: Readonly<Record<string, string>> = {}
) => {
  const name = randomName("console")
  await Effect.runPromise(execute(cluster.url, `create database ${name} template ${cluster.template}`))
  const databaseUrl = withDatabase(cluster.url, name)
  const port = await Effect.runPromise(freePort)
  const url = `http://localhost:${port}`
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
    OPERATOR_TOKEN,
    HOST: "127.0.0.1",
    PORT: String(port),
    BASE_URL: url,
    DELIVERY_ALLOWED_TARGETS: "127.0.0.0/8",
    DELIVERY_ALLOW_HTTP: "true",
    DELIVERY_RETRY_DELAY: "50 millis",
    LOG_FORMAT: "json",
    RATE_LIMIT_REST_READ: "off",
    RATE_LIMIT_REST_WRITE: "off",
    RATE_LIMIT_ASSISTANT: "off",
    ...environment
  }
  const children = new Map<string, ChildProcess>()
  const logs: Array<string> = []
  const start = async (role: "serve" | "work") => {
    const child = spawn(process.execPath, [main, role], { env, stdio: ["ignore", "pipe", "pipe"] })
    child.stdout!.on("data", (chunk) => logs.push(String(chunk)))
    child.stderr!.on("data", (chunk) => logs.push(String(chunk)))
    children.set(role, child)
    await said(child, role === "serve" ? "listening" : "delivering")
  }
  const stop = async (role: "serve" | "work") => {
    const child = children.get(role)
    child?.kill("SIGKILL")
    if (child !== undefined) await ended(child)
  }

  const api = async (method: string, path: string, body?: unknown, token = OPERATOR_TOKEN) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text === "" ? {} : JSON.parse(text)) as Json
  }

  const sql = async (text: string, values: ReadonlyArray<unknown> = []) => {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      return (await client.query(text, values as Array<unknown>)).rows as ReadonlyArray<Json>
    } finally {
      await client.end()
    }
  }

  /** A link that opens the console once. */
  const link = async (slug: string, body: unknown = {}) =>
    String((await api("POST", `/workspaces/${slug}/console-links`, body)).url)

  const close = async () => {
    await Promise.all([stop("serve"), stop("work")])
    await Effect.runPromise(dropDatabase(cluster.url, name))
  }

  await start("serve")
  return { url, api, close, databaseUrl, link, logs, sql, start, stop }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome-stable"]

/** The path of a Chromium; undefined when there is none. */
export const chromiumPath = (): string | undefined =>
  [process.env.CHROMIUM_PATH ?? "", ...BROWSERS].find((path) => path !== "" && existsSync(path))
