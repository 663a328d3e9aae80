/**
 * JSON-RPC as MCP uses it: the text of one request becomes messages, a tool's arguments staying text.
 *
 * Arguments are cut out unparsed, because only the tool knows which of its members must be carried to the letter; the
 * tool parses them. A text that is no JSON, or holds no message, is the protocol's own error.
 */
import { type JsonText, parseJson } from "@posthorn/domain/JsonText"
import { Data, Either } from "effect"

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
export const RESOURCE_NOT_FOUND = -32_002

/** An error of the protocol, as opposed to a refusal of an operation. */
export class RpcError extends Data.TaggedError("RpcError")<{
  readonly code: number
  readonly message: string
}> {}

/** One message, not looked into but for what tells requests from notifications. */
export interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

export interface Incoming {
  /** More than one message, or one in an array: answered by an array. */
  readonly isBatch: boolean
  readonly messages: ReadonlyArray<Message>
}

/** Text cut out here is parsed by its tool, which has the real limit. */
const ARGUMENT_DEPTH = 100_000
const MAX_BATCH = 50
const RAW = [
  ["params", "arguments"],
  ["*", "params", "arguments"]
]

export const isRequest = (message: Message) => message.method !== undefined && message.id !== undefined

/** The messages of one HTTP request. */
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

/** An error that belongs to no request. */
export const errorWithoutId = ({ code, message }: RpcError) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message }
})

/** Arguments as they were sent; undefined when there were none, which some clients write as null. */
export const argumentsOf = (params: unknown): JsonText | undefined => {
  const given = (params as { readonly arguments?: JsonText } | undefined)?.arguments
  return given?.text === "null" ? undefined : given
}
