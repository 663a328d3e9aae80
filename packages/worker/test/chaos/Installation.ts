/** A whole installation on this machine: PostgreSQL, and two workers and a server, each with a line of its own to it. */
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { type DatabaseLine, makeLine, through } from "../processes/DatabaseLine.ts"
import { freePort } from "../processes/FreePort.ts"
import { keepHistory } from "./Keeping.ts"
import type { Role } from "./Plan.ts"
import type { Call } from "./Publishers.ts"
import { namedCommand, Supervised } from "./Supervised.ts"

const OPERATOR_TOKEN = "operator-token-of-the-chaos-run"
export const RETRY_DELAY_MS = 300
export const REQUEST_TIMEOUT_MS = 2_500
const CALL_PAUSE_MS = 200
const CALL_TIMEOUT_MS = 20_000

const ENVIRONMENT = {
  DELIVERY_RETRY_DELAY: `${RETRY_DELAY_MS} millis`,
  DELIVERY_REQUEST_TIMEOUT: `${REQUEST_TIMEOUT_MS} millis`,
  OPERATOR_TOKEN,
  ...Object.fromEntries(
    ["REST_READ", "REST_WRITE", "ASSISTANT", "MCP", "EVENT_PUBLISH"].map((bucket) => [
      `RATE_LIMIT_${bucket}`,
      "off"
    ])
  )
}

export interface Installation {
  /** Straight to the database. */
  readonly databaseUrl: string
  readonly query: <A extends pg.QueryResultRow>(text: string) => Promise<ReadonlyArray<A>>
  readonly cluster: OwnCluster.OwnCluster
  readonly lines: Readonly<Record<Role, DatabaseLine>>
  readonly processes: Readonly<Record<Role, Supervised>>
  /** As the operator, again and again until the server answers with something else than 5xx; paths below the workspace. */
  readonly call: Call
}

const SLUG = "acme"

/** One statement on a connection of its own: nothing to break when PostgreSQL is restarted in between. */
const queryOn =
  (url: string) =>
  async <A extends pg.QueryResultRow>(text: string): Promise<ReadonlyArray<A>> => {
    const client = new pg.Client({ connectionString: url })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query<A>(text)).rows
    } finally {
      await client.end()
    }
  }

const callOn =
  (base: string): Call =>
  async (method, path, body) => {
    for (;;) {
      const answer = await fetch(`${base}${path}`, {
        method,
        headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" },
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
        .then(async (response) => ({ status: response.status, text: await response.text() }))
        .catch(() => null)
      if (answer !== null && answer.status < 500)
        return { status: answer.status, body: answer.text === "" ? null : JSON.parse(answer.text) }
      await new Promise((resolve) => setTimeout(resolve, CALL_PAUSE_MS))
    }
  }

const processesOn = (lines: Readonly<Record<Role, DatabaseLine>>, url: string, port: number) =>
  Effect.map(
    Effect.acquireRelease(Effect.sync(namedCommand), ({ remove }) => Effect.sync(remove)),
    ({ file }) => {
      const of = (role: Role, name: string, command: "work" | "serve") =>
        new Supervised(name, file, command, {
          ...ENVIRONMENT,
          PORT: String(port),
          DATABASE_URL: through(lines[role], url)
        })
      return {
        "worker 0": of("worker 0", "w0", "work"),
        "worker 1": of("worker 1", "w1", "work"),
        server: of("server", "s", "serve")
      }
    }
  )

/** Everything runs, and the workspace is there. */
export const install = Effect.gen(function* () {
  const cluster = yield* OwnCluster.make
  const databaseUrl = Redacted.value(cluster.url)
  yield* Effect.promise(() => keepHistory(databaseUrl))
  // For the moments of commits.
  yield* cluster.stop
  yield* cluster.start
  const line = makeLine(new URL(databaseUrl))
  const lines = { "worker 0": yield* line, "worker 1": yield* line, server: yield* line }
  const port = yield* freePort
  const processes = yield* processesOn(lines, databaseUrl, port)
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => Promise.all(Object.values(processes).map((one) => one.stop())))
  )
  for (const one of Object.values(processes)) one.start()
  const base = `http://127.0.0.1:${port}/workspaces`
  yield* Effect.promise(() => callOn(base)("POST", "", { slug: SLUG, name: "Acme" }))
  const call = callOn(`${base}/${SLUG}`)
  return { databaseUrl, query: queryOn(databaseUrl), cluster, lines, processes, call } satisfies Installation
})

export { SLUG }
