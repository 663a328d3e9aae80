/**
 * The environment of the console's tests: the command as `serve` and `work` on a database of its own, a receiver whose
 * answer can be changed, and Debian's Chromium. All parts are real.
 */
import { existsSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { makeBundle, type Process, startReady } from "@posthorn/testkit/Command"
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

export const OPERATOR_TOKEN = "operator-token-of-the-console-tests"

/** Builds command and console when they are older than their sources. */
export const build = async () => {
  const file = new URL("../../../scripts/console.mjs", import.meta.url).href
  const { buildConsole } = (await import(file)) as { buildConsole: () => void }
  await makeBundle()
  buildConsole()
}

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
    RATE_LIMIT_FILTER_TRY: "off",
    ...environment
  }
  const started: Array<{ readonly role: string; readonly process: Process }> = []
  const start = async (role: "serve" | "work") =>
    void started.push({ role, process: await startReady(role, env) })
  const stop = async (wanted: "serve" | "work") => {
    for (const { process, role } of started) {
      if (role !== wanted) continue
      process.signal("SIGKILL")
      await Effect.runPromise(process.ended)
    }
  }
  const logs = () => started.map(({ process: { log, said } }) => said() + log()).join("")

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
