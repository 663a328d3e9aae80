/**
 * JSON-RPC as MCP uses it: parses the text of one request into messages, but leaves a tool's arguments as text.
 *
 * The tool parses its arguments, because only it knows which members must be kept as exact text. A text that is not JSON, or
 * has no message, is a protocol error.
 */
import { type JsonText, parseJson } from "@posthorn/domain/JsonText"
import { Data, Either } from "effect"

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
export const RESOURCE_NOT_FOUND = -32_002

export class RpcError extends Data.TaggedError("RpcError")<{
  readonly code: number
  readonly message: string
}> {}

/** One message, examined only as far as needed to tell requests from notifications. */
export interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

export interface Incoming {
  /** An array of messages, even of one: answered by an array. */
  readonly isBatch: boolean
  readonly messages: ReadonlyArray<Message>
}

/** A generous limit: the tool, which parses the arguments, has the real one. */
const ARGUMENT_DEPTH = 100_000
const MAX_BATCH = 50
const RAW = [
  ["params", "arguments"],
  ["*", "params", "arguments"]
]

export const isRequest = (message: Message) => message.method !== undefined && message.id !== undefined

export const parseMessages = (text: string): Either.Either<Incoming, RpcError> =>
  parseJson(text, RAW, { rawDepth: ARGUMENT_DEPTH, rawUnparsed: true }).pipe(
    Either.mapLeft(({ message }) => new RpcError({ code: PARSE_ERROR, message })),
    Either.flatMap((parsed) => {
      const isBatch = Array.isArray(parsed)
      const messages: ReadonlyArray<unknown> = isBatch ? parsed : [parsed]
      return isBatch && (messages.length === 0 || messages.length > MAX_BATCH)
        ? invalidRequest(`A batch holds 1 to ${MAX_BATCH} messages.`)
        : messages.every(isMessage)
          ? Either.right({ isBatch, messages })
          : invalidRequest("This is not a JSON-RPC 2.0 message.")
    })
  )

const invalidRequest = (message: string) => Either.left(new RpcError({ code: INVALID_REQUEST, message }))

const isMessage = (value: unknown): value is Message => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const { id, jsonrpc, method } = value as Message & { readonly jsonrpc?: unknown }
  const known = id === undefined || typeof id === "string" || Number.isSafeInteger(id)
  return (
    jsonrpc === "2.0" && known && (typeof method === "string" || (method === undefined && id !== undefined))
  )
}

export const errorWithoutId = ({ code, message }: RpcError) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message }
})

/** The arguments' text; undefined if there are none, or they are null, as some clients write. */
export const argumentsOf = (params: unknown): JsonText | undefined => {
  const given = (params as { readonly arguments?: JsonText } | undefined)?.arguments
  return given?.text === "null" ? undefined : given
}
