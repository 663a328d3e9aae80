/**
 * Protocol revision 2026-07-28, implemented here: our version of the SDK ends with the revision before it.
 *
 * There is no handshake: each request has its revision and its client's capabilities in `_meta`, and repeats in headers what
 * proxies may need. Headers that contradict the body are refused, because a proxy may have decided by them. Requests without
 * this `_meta` are served as before. `subscriptions/listen` is not offered, since no list changes during a connection.
 */
import { Effect, Either } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import { INSTRUCTIONS } from "./Instructions.ts"
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  type Incoming,
  isRequest,
  METHOD_NOT_FOUND,
  type Message,
  RESOURCE_NOT_FOUND,
  type RpcError
} from "./JsonRpc.ts"
import type { McpContext } from "./McpContext.ts"
import { legacyVersions } from "./McpServer.ts"
import { Methods } from "./Methods.ts"

export const REVISION = "2026-07-28"
const protocolVersions: ReadonlyArray<string> = [REVISION, ...legacyVersions]

const HEADER_MISMATCH = -32_020
const UNSUPPORTED_VERSION = -32_022

const VERSION = "io.modelcontextprotocol/protocolVersion"
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
const SERVER = "io.modelcontextprotocol/serverInfo"

type Headers = Readonly<Record<string, string | undefined>>
type Fields = Readonly<Record<string, unknown>>

export interface Answered {
  readonly status: number
  readonly body: object
}

interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: object
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const metaOf = ({ params }: Message): Fields => {
  const meta = isFields(params) ? params._meta : undefined
  return isFields(meta) ? meta : {}
}

const bad = (code: number, message: string): Refusal => ({ status: 400, code, message })

/** The revision is not supported: lists those that are, so that the client can retry. */
const unsupported = (requested: unknown): Refusal => ({
  ...bad(
    UNSUPPORTED_VERSION,
    `This revision of the protocol is not known here: use one of ${protocolVersions.join(", ")}.`
  ),
  data: {
    supported: protocolVersions,
    requested: typeof requested === "string" ? requested.slice(0, 50) : ""
  }
})

const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri"
}

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

const plain = (header: string | undefined) => {
  const [, encoded] = ENCODED.exec(header ?? "") ?? []
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString("utf8")
}

const mismatch = (name: string) =>
  bad(HEADER_MISMATCH, `The header ${name} is missing, or says something else than the message.`)

const refusalOf = (message: Message, headers: Headers): Refusal | undefined => {
  const meta = metaOf(message)
  const { method, params } = message
  const header = headers["mcp-protocol-version"]
  if (typeof meta[VERSION] !== "string")
    return bad(INVALID_PARAMS, `Give the revision in _meta, as ${VERSION}.`)
  if (header !== meta[VERSION]) return mismatch("MCP-Protocol-Version")
  if (meta[VERSION] !== REVISION) return unsupported(meta[VERSION])
  if (!isFields(meta[CAPABILITIES]))
    return bad(INVALID_PARAMS, `Give the client's capabilities in _meta, as ${CAPABILITIES}; {} will do.`)
  if (headers["mcp-method"] !== method) return mismatch("Mcp-Method")
  const named = NAMED[String(method)]
  const wanted = named === undefined || !isFields(params) ? undefined : params[named]
  return wanted !== undefined && plain(headers["mcp-name"]) !== wanted ? mismatch("Mcp-Name") : undefined
}

const DAY_MS = 86_400_000
const MINUTES_MS = 300_000

/** How long an answer may be cached, and whether it is the same for other callers. Tools depend on the token. */
const CACHEABLE: Readonly<Record<string, object>> = {
  "server/discover": { ttlMs: MINUTES_MS, cacheScope: "public" },
  "tools/list": { ttlMs: MINUTES_MS, cacheScope: "private" },
  "prompts/list": { ttlMs: DAY_MS, cacheScope: "public" },
  "resources/list": { ttlMs: MINUTES_MS, cacheScope: "public" },
  "resources/templates/list": { ttlMs: DAY_MS, cacheScope: "public" },
  "resources/read": { ttlMs: MINUTES_MS, cacheScope: "public" }
}

export class Protocol20260728 extends Effect.Service<Protocol20260728>()(
  "@posthorn/server/McpProtocol20260728",
  {
    dependencies: [Methods.Default],
    effect: Effect.gen(function* () {
      const methods = yield* Methods
      const { version } = yield* ServerConfig
      const serverInfo = { name: "posthorn", title: "Posthorn", version }

      const discovered = {
        supportedVersions: protocolVersions,
        capabilities: { tools: {}, resources: {}, prompts: {} },
        serverInfo,
        instructions: INSTRUCTIONS
      }

      const run = (message: Message, context: McpContext): Effect.Effect<object, RpcError> => {
        const method = String(message.method)
        return method === "server/discover"
          ? Effect.succeed(discovered)
          : methods.run(method, message.params, context)
      }

      const failed = (id: unknown, { code, data, message, status }: Refusal): Answered => ({
        status,
        body: { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } }
      })

      const complete = ({ id, method }: Message, result: object): Answered => ({
        status: 200,
        body: {
          jsonrpc: "2.0",
          id,
          result: {
            resultType: "complete",
            ...result,
            ...CACHEABLE[String(method)],
            _meta: { [SERVER]: serverInfo }
          }
        }
      })

      /** An unknown method is 404; an unknown resource is an invalid parameter since this revision. */
      const refused = (id: unknown, { code, message }: RpcError) =>
        failed(id, {
          status: code === METHOD_NOT_FOUND ? 404 : 200,
          code: code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code,
          message
        })

      /** The answer to a request of this revision or an unknown one; undefined for an older revision. */
      const answer = (
        { isBatch, messages }: Incoming,
        headers: Headers,
        context: McpContext
      ): Effect.Effect<Answered> | undefined => {
        const [message] = messages
        const given = headers["mcp-protocol-version"]
        if (message === undefined) return undefined
        const said = metaOf(message)[VERSION]
        // An older client also names its newest revision in the header of its handshake.
        if (said === undefined && messages.some(({ method }) => method === "initialize")) return undefined
        if (said === undefined && given !== undefined && !protocolVersions.includes(given))
          return Effect.succeed(failed(null, unsupported(given)))
        if (given !== REVISION && (said === undefined || legacyVersions.includes(String(said))))
          return undefined
        if (isBatch)
          return Effect.succeed(failed(null, bad(INVALID_REQUEST, "This revision has no batches.")))
        if (!isRequest(message)) return undefined
        const refusal = refusalOf(message, headers)
        if (refusal !== undefined) return Effect.succeed(failed(message.id, refusal))
        return Effect.map(Effect.either(run(message, context)), (outcome) =>
          Either.isRight(outcome) ? complete(message, outcome.right) : refused(message.id, outcome.left)
        )
      }

      return { answer } as const
    })
  }
) {}
