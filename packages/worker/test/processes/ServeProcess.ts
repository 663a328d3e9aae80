/** `posthorn serve` as a process, and calls as its operator. */

import type { Environment } from "@posthorn/testkit/Command"
import { startProcess } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { Effect } from "effect"

export const OPERATOR_TOKEN = "operator-token-of-the-worker-tests"

export interface Body {
  readonly id: string
  readonly status: string
  readonly attempts: number
  readonly signingSecret: string
  readonly deliveryIds: ReadonlyArray<string>
  readonly replayedFrom: string | null
  readonly enabled: boolean
  readonly consecutiveFailures: number
  readonly state: string
  readonly matched: number
  readonly missed: number
  readonly replayed: number
}

interface Reply {
  readonly status: number
  readonly body: Body
}

/** Below the workspace's path. */
export type Api = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>
) => Effect.Effect<Reply>

const request = async (
  method: string,
  url: string,
  body: unknown,
  more: Readonly<Record<string, string>> = {}
): Promise<Reply> => {
  const headers = {
    ...more,
    authorization: `Bearer ${OPERATOR_TOKEN}`,
    "content-type": "application/json"
  }
  const answer = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === "" ? {} : JSON.parse(text)) as Body }
}

/** `posthorn serve` at this port. */
export const serveAt = (port: number, environment: Environment, command: "run" | "serve" = "serve") =>
  startProcess(command, { ...environment, PORT: String(port), OPERATOR_TOKEN })

interface StartedApi extends Api {
  /** The server's address. */
  readonly origin: string
}

/** A new workspace of the server at this port. */
export const workspaceAt = (port: number, slug: string) =>
  Effect.gen(function* () {
    const origin = `http://127.0.0.1:${port}`
    const base = `${origin}/workspaces`
    yield* Effect.promise(() => request("POST", base, { slug, name: slug }))
    const api: Api = (method, path, body, headers) =>
      Effect.promise(() => request(method, `${base}/${slug}${path}`, body, headers))
    return Object.assign(api, { origin }) satisfies StartedApi
  })

/** A workspace on a new server. */
export const startApi = (slug: string, environment: Environment) =>
  Effect.gen(function* () {
    const port = yield* freePort
    yield* serveAt(port, environment)
    return yield* workspaceAt(port, slug)
  })
