/** The REST side of a whole installation: `posthorn serve` in a process of its own, and calls as its operator. */
import { Effect } from "effect"
import type { Environment } from "./Command.ts"
import { freePort } from "./FreePort.ts"
import { startProcess } from "./WorkerProcess.ts"

const OPERATOR_TOKEN = "operator-token-of-the-worker-tests"

export interface Body {
  readonly id: string
  readonly status: string
  readonly attempts: number
  readonly signingSecret: string
  readonly deliveryIds: ReadonlyArray<string>
  readonly replayedFrom: string | null
  readonly enabled: boolean
  readonly consecutiveFailures: number
}

export interface Reply {
  readonly status: number
  readonly body: Body
}

/** Below the workspace's path. */
export type Api = (method: string, path: string, body?: unknown) => Effect.Effect<Reply>

const request = async (method: string, url: string, body: unknown): Promise<Reply> => {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" }
  const answer = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === "" ? {} : JSON.parse(text)) as Body }
}

/** A workspace on a server of its own. */
export const startApi = (slug: string, environment: Environment) =>
  Effect.gen(function* () {
    const port = yield* freePort
    yield* startProcess("serve", { ...environment, PORT: String(port), OPERATOR_TOKEN })
    const base = `http://127.0.0.1:${port}/workspaces`
    yield* Effect.promise(() => request("POST", base, { slug, name: slug }))
    const api: Api = (method, path, body) =>
      Effect.promise(() => request(method, `${base}/${slug}${path}`, body))
    return api
  })
