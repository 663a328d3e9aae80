/** The processes of an installation on this machine: any number of workers and servers, and calls to the servers. */

import { freePort } from "@posthorn/testkit/FreePort"
import { Effect } from "effect"
import type { Role, Roles } from "./Actions.ts"
import { Clocks } from "./Clocks.ts"
import type { Call } from "./Publishers.ts"
import { namedCommand, Supervised } from "./Supervised.ts"

const OPERATOR_TOKEN = "operator-token-of-the-chaos-run"
export const RETRY_DELAY_MS = 300
export const REQUEST_TIMEOUT_MS = 2_500
const CALL_PAUSE_MS = 200
const CALL_TIMEOUT_MS = 20_000

export const SLUG = "acme"
/** The system workspace. */
export const PLATFORM = "platform"

const ENVIRONMENT = {
  DELIVERY_RETRY_DELAY: `${RETRY_DELAY_MS} millis`,
  DELIVERY_REQUEST_TIMEOUT: `${REQUEST_TIMEOUT_MS} millis`,
  OPERATOR_TOKEN,
  SYSTEM_WORKSPACE: PLATFORM,
  ...Object.fromEntries(
    ["REST_READ", "REST_WRITE", "ASSISTANT", "MCP", "EVENT_PUBLISH", "AUTH_FAILURE"].map((bucket) => [
      `RATE_LIMIT_${bucket}`,
      "off"
    ])
  )
}

export interface Processes {
  readonly processes: ReadonlyMap<Role, Supervised>
  readonly clocks: Clocks
  /** The URLs of `/metrics`. */
  readonly origins: ReadonlyMap<Role, string>
  /**
   * Calls as the operator, or with these headers, one server after another until one answers below 500; paths below the
   * workspace.
   */
  readonly call: Call
  /** The same within the system workspace. */
  readonly callPlatform: Call
  /** 5xx answers by status, and the problems that were not about an unreachable database. */
  readonly troubles: Troubles
}

interface Troubles {
  readonly away: () => number
  readonly unforeseen: ReadonlyArray<string>
}

const callOn = (bases: ReadonlyArray<string>): { readonly call: Call; readonly troubles: Troubles } => {
  let turn = 0
  let away = 0
  const unforeseen: Array<string> = []
  const call: Call = async (method, path, body, headers) => {
    for (;;) {
      const base = bases[turn++ % bases.length]!
      const answer = await fetch(`${base}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${OPERATOR_TOKEN}`,
          "content-type": "application/json",
          ...headers
        },
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
        .then(async (response) => ({ status: response.status, text: await response.text() }))
        .catch(() => null)
      if (answer !== null && answer.status < 500)
        return { status: answer.status, body: answer.text === "" ? null : JSON.parse(answer.text) }
      if (answer?.status === 503) away += 1
      else if (answer !== null)
        unforeseen.push(`${method} ${path} was answered ${answer.status}: ${answer.text}`)
      await new Promise((resolve) => setTimeout(resolve, CALL_PAUSE_MS))
    }
  }
  return { call, troubles: { away: () => away, unforeseen } }
}

const commandFile = Effect.map(
  Effect.acquireRelease(Effect.sync(namedCommand), ({ remove }) => Effect.sync(remove)),
  ({ file, preload }) => ({ file, preload })
)

/** `w0`, `s1`: the names that receivers see. */
const nameOf = (role: Role) => `${role[0]}${role.slice(role.indexOf(" ") + 1)}`

/** The process that sends under this name, such as `w0.3`. */
export const roleOf = (sender: string): Role =>
  `${sender.startsWith("w") ? "worker" : "server"} ${Number.parseInt(sender.slice(1), 10)}`

/** Starts them and creates the workspaces. `urlOf` gives the database URL of each. */
export const runProcesses = ({ servers, workers }: Roles, urlOf: (role: Role) => string) =>
  Effect.gen(function* () {
    const program = yield* commandFile
    const clocks = new Clocks()
    const processes = new Map<Role, Supervised>()
    const origins = new Map<Role, string>()
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => Promise.all([...processes.values()].map((one) => one.stop())))
    )
    for (const role of [...workers, ...servers]) {
      const port = String(yield* freePort)
      const isServer = role.startsWith("server")
      const one = new Supervised(nameOf(role), program, isServer ? "serve" : "work", {
        ...ENVIRONMENT,
        DATABASE_URL: urlOf(role),
        [isServer ? "PORT" : "METRICS_PORT"]: port
      })
      processes.set(role, one)
      origins.set(role, `http://127.0.0.1:${port}`)
      one.start()
    }
    const bases = servers.map((role) => `${origins.get(role)}/workspaces`)
    for (const slug of [PLATFORM, SLUG])
      yield* Effect.promise(() => callOn(bases).call("POST", "", { slug, name: slug }))
    const calls = callOn(bases.map((base) => `${base}/${SLUG}`))
    const callPlatform = callOn(bases.map((base) => `${base}/${PLATFORM}`)).call
    return { processes, origins, clocks, callPlatform, ...calls } satisfies Processes
  })
