/** The processes of an installation on this machine: any number of workers and servers, and a way to call the servers. */

import { freePort } from "@posthorn/testkit/FreePort"
import { Effect } from "effect"
import type { Role, Roles } from "./Plan.ts"
import type { Call } from "./Publishers.ts"
import { namedCommand, Supervised } from "./Supervised.ts"

const OPERATOR_TOKEN = "operator-token-of-the-chaos-run"
export const RETRY_DELAY_MS = 300
export const REQUEST_TIMEOUT_MS = 2_500
const CALL_PAUSE_MS = 200
const CALL_TIMEOUT_MS = 20_000

export const SLUG = "acme"

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

export interface Processes {
  readonly processes: ReadonlyMap<Role, Supervised>
  /** Where each answers `/metrics`. */
  readonly origins: ReadonlyMap<Role, string>
  /** As the operator, at one server after another until one answers with something else than 5xx; paths below the workspace. */
  readonly call: Call
}

const callOn = (bases: ReadonlyArray<string>): Call => {
  let turn = 0
  return async (method, path, body) => {
    for (;;) {
      const base = bases[turn++ % bases.length]!
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
}

const commandFile = Effect.map(
  Effect.acquireRelease(Effect.sync(namedCommand), ({ remove }) => Effect.sync(remove)),
  ({ file }) => file
)

/** `w0`, `s1`: as the receivers hear of them. */
const nameOf = (role: Role) => `${role[0]}${role.slice(role.indexOf(" ") + 1)}`

/** The one whose process sends under this name, such as `w0.3`. */
export const roleOf = (sender: string): Role =>
  `${sender.startsWith("w") ? "worker" : "server"} ${Number.parseInt(sender.slice(1), 10)}`

/** They run, and the workspace is there. `urlOf` says what each has for its database. */
export const runProcesses = ({ servers, workers }: Roles, urlOf: (role: Role) => string) =>
  Effect.gen(function* () {
    const file = yield* commandFile
    const processes = new Map<Role, Supervised>()
    const origins = new Map<Role, string>()
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => Promise.all([...processes.values()].map((one) => one.stop())))
    )
    for (const role of [...workers, ...servers]) {
      const port = String(yield* freePort)
      const isServer = role.startsWith("server")
      const one = new Supervised(nameOf(role), file, isServer ? "serve" : "work", {
        ...ENVIRONMENT,
        DATABASE_URL: urlOf(role),
        [isServer ? "PORT" : "METRICS_PORT"]: port
      })
      processes.set(role, one)
      origins.set(role, `http://127.0.0.1:${port}`)
      one.start()
    }
    const bases = servers.map((role) => `${origins.get(role)}/workspaces`)
    yield* Effect.promise(() => callOn(bases)("POST", "", { slug: SLUG, name: "Acme" }))
    return { processes, origins, call: callOn(bases.map((base) => `${base}/${SLUG}`)) } satisfies Processes
  })
