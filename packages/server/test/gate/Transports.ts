/**
 * The transports of an operation, each with the same request: REST with a token, MCP with a token, the console with the
 * cookie of a session signed in by a token, and of one opened by a link.
 *
 * `placesOf` lists every position of a caller's text in an operation, read from the contract, so new ones are included
 * automatically.
 */

import { type ContractEntry, membersOf } from "@posthorn/api-contract/Contract"
import { Effect } from "effect"
import { rpc } from "../McpCalls.ts"
import { pathOf, sampleOf, type World } from "../Samples.ts"
import { type Call, type Entered, TestServer } from "../TestServer.ts"

type Texts = Readonly<Record<string, string>>

export interface Asked {
  readonly path: World
  readonly query: Texts
  readonly headers: Texts
  readonly body: unknown
}

export interface Told {
  readonly status: number
  readonly text: string
}

export interface Transport {
  readonly name: string
  readonly ask: (entry: ContractEntry, asked: Asked) => Effect.Effect<Told, never, TestServer>
}

/** The request of the operation's sample. */
export const askedOf = (entry: ContractEntry, world: World): Asked => {
  const { body, query = {} } = sampleOf(entry, world)
  return { path: world, query, headers: {}, body }
}

const overHttp =
  (prefix: string, headers: Texts): Transport["ask"] =>
  (entry, asked) =>
    Effect.flatMap(TestServer, ({ call }) =>
      call(entry.method, `${prefix}${pathOf(entry, asked.path, asked.query)}`, {
        headers: { ...headers, ...asked.headers },
        ...(asked.body === undefined ? {} : { body: asked.body })
      })
    )

const overMcp =
  (token: string): Transport["ask"] =>
  (entry, { body, headers, path, query }) =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const named = Object.fromEntries(
        [...entry.path.matchAll(/:(\w+)/g)].map(([, name]) => [name, path[name!]])
      )
      const key = headers["idempotency-key"]
      const args = { ...named, ...query, ...(body as object), ...(key && { idempotencyKey: key }) }
      const answer = yield* rpc(url, token, "tools/call", { name: entry.rules.tool, arguments: args })
      // Refused before the tool runs, as REST refuses.
      if (answer.status !== 200) return answer
      const { content, isError } = answer.body.result
      const text = content[0]!.text
      return { text, status: isError === true ? (JSON.parse(text) as Told).status : entry.successStatus }
    })

const OURS = { "sec-fetch-site": "same-origin", "x-console": "1" }

/** The cookie of a new session. */
const cookieFor = (body: { readonly token: string } | { readonly code: string }) =>
  Effect.flatMap(TestServer, ({ call }) =>
    Effect.map(
      call("POST", "/console/session", { body, headers: OURS }),
      ({ headers }) => headers.get("set-cookie")!.split(";")[0]!
    )
  )

/** The code of a new link with its maker's rights. */
const codeFor = ({ call }: Entered) =>
  Effect.map(call("POST", "/console-links", { body: {} }), ({ body }) =>
    new URL(String(body.url)).hash.slice(6)
  )

/** A browser would send the cookie under the name of the requested workspace if an attacker had set it so. */
const overConsole =
  (slug: string, cookie: string): Transport["ask"] =>
  (entry, asked) =>
    overHttp("/console/api", { ...OURS, cookie: cookie.replace(`_${slug}=`, `_${asked.path.slug}=`) })(
      entry,
      asked
    )

/** A session that a link opens, with calls below the workspace's path. */
export const consoleOf = (ws: Entered, code: string) =>
  Effect.gen(function* () {
    const { call } = yield* TestServer
    const cookie = yield* cookieFor({ code })
    const below: Call = (method, path, options) =>
      call(method, `/console/api/workspaces/${ws.slug}${path}`, { ...options, headers: { ...OURS, cookie } })
    return { name: "limited link", ask: overConsole(ws.slug, cookie), call: below }
  })

/** Every transport of this workspace. */
export const transportsOf = (ws: Entered) =>
  Effect.gen(function* () {
    const { slug, token } = ws
    const all: ReadonlyArray<Transport> = [
      { name: "REST", ask: overHttp("", { authorization: `Bearer ${token}` }) },
      { name: "MCP", ask: overMcp(token) },
      { name: "console", ask: overConsole(slug, yield* cookieFor({ token })) },
      { name: "link", ask: overConsole(slug, yield* cookieFor({ code: yield* codeFor(ws) })) }
    ]
    return all
  })

export interface Place {
  readonly name: string
  readonly isPath: boolean
  /** Texts at this position are not stored. */
  readonly isRead: boolean
  /** The only kind of text that is possible there; undefined: every kind. */
  readonly kind?: string
  readonly put: (asked: Asked, value: string) => Asked
}

/** The positions of texts in a value, as paths of members. */
const leavesOf = (value: unknown, at: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, each]) => leavesOf(each, [...at, name]))
    : typeof value === "string"
      ? [at]
      : []

const replaced = (value: unknown, [name, ...more]: ReadonlyArray<string>, by: string): unknown => {
  if (name === undefined) return by
  if (Array.isArray(value))
    return value.map((each, index) => (String(index) === name ? replaced(each, more, by) : each))
  const object = (value ?? {}) as Readonly<Record<string, unknown>>
  return { ...object, [name]: replaced(object[name], more, by) }
}

export const placesOf = (entry: ContractEntry): ReadonlyArray<Place> => {
  const inPath = [...entry.path.matchAll(/:(\w+)/g)]
    .map(([, name]) => name!)
    .filter((name) => name !== "slug")
  const body = sampleOf(entry, ANY_WORLD).body
  const inBody = [...membersOf(entry.bodySchema).map((name) => [name]), ...leavesOf(body)]
  return [
    ...inPath.map((name) => ({
      name: `path ${name}`,
      isPath: true,
      isRead: true,
      put: (asked: Asked, value: string) => ({ ...asked, path: { ...asked.path, [name]: value } })
    })),
    ...membersOf(entry.querySchema).map((name) => ({
      name: `query ${name}`,
      isPath: false,
      isRead: true,
      put: (asked: Asked, value: string) => ({ ...asked, query: { ...asked.query, [name]: value } })
    })),
    {
      name: "header traceparent",
      isPath: false,
      isRead: entry.method === "GET",
      kind: "traceId",
      put: (asked: Asked, value: string) => ({
        ...asked,
        headers: { ...asked.headers, traceparent: `00-${value}-00000000000000a1-01` }
      })
    },
    ...membersOf(entry.headersSchema).map((name) => ({
      name: `header ${name}`,
      isPath: false,
      isRead: false,
      put: (asked: Asked, value: string) => ({ ...asked, headers: { ...asked.headers, [name]: value } })
    })),
    ...[...new Map(inBody.map((at) => [at.join("."), at])).values()].map((at) => ({
      name: `body ${at.join(".")}`,
      isPath: false,
      isRead: false,
      put: (asked: Asked, value: string) => ({ ...asked, body: replaced(asked.body, at, value) })
    }))
  ]
}

/** Gives every name a text: only the structure of the samples matters. */
const ANY_WORLD = new Proxy({} as World, { get: () => "any" })
