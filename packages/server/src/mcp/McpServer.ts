/**
 * The adapter to `@modelcontextprotocol/sdk`, and the only file that imports it: a new major version changes only this file.
 *
 * The SDK negotiates the protocol revisions that begin with a handshake (`Protocol20260728` answers the one without);
 * everything else goes to `Methods`. Each HTTP request has a new server, because no state is kept between requests. The SDK's
 * own HTTP transport is not used: it writes answers with `JSON.stringify`, which changes the spelling of numbers in payloads,
 * and it answers a bad parameter with a dump of its validator.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  SUPPORTED_PROTOCOL_VERSIONS
} from "@modelcontextprotocol/sdk/types.js"
import { Cause, Effect, Exit, Runtime } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import { INSTRUCTIONS } from "./Instructions.ts"
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isRequest,
  type Message,
  type RpcError
} from "./JsonRpc.ts"
import type { McpContext } from "./McpContext.ts"
import { Methods } from "./Methods.ts"

/** Revisions with a handshake, the newest first. */
export const legacyVersions: ReadonlyArray<string> = SUPPORTED_PROTOCOL_VERSIONS

/** A transport for one HTTP request: it passes all messages to the SDK, and collects answers until each request has one. */
class RequestTransport implements Transport {
  onmessage?: Transport["onmessage"]
  onclose?: () => void
  onerror?: (error: Error) => void
  private readonly answers: Array<object> = []
  private readonly finished: Promise<ReadonlyArray<object>>
  private finish: (answers: ReadonlyArray<object>) => void = () => undefined
  private open = 0

  constructor() {
    this.finished = new Promise((resolve) => {
      this.finish = resolve
    })
  }

  start = async () => {}

  close = async () => this.onclose?.()

  send = async (message: JSONRPCMessage) => {
    if ("method" in message) return
    this.answers.push(tidy(message))
    if (this.answers.length === this.open) this.finish(this.answers)
  }

  ask(messages: ReadonlyArray<Message>): Promise<ReadonlyArray<object>> {
    this.open = messages.filter(isRequest).length
    // A cancellation would make the SDK drop an answer that this transport waits for. A call in another HTTP request is
    // cancelled by closing that one.
    const heard = messages.filter(({ method }) => method !== "notifications/cancelled")
    for (const message of heard) {
      // The SDK silently ignores messages that it does not recognise as requests; this transport would then wait forever.
      if (isRequest(message) && !isJSONRPCRequest(message)) void this.send(notARequest(message))
      else this.onmessage?.(message as JSONRPCMessage)
    }
    return this.open === 0 ? Promise.resolve([]) : this.finished
  }
}

const notARequest = ({ id }: Message): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id: id as string | number,
  error: { code: INVALID_REQUEST, message: "This is not a JSON-RPC 2.0 request with params of MCP's shape." }
})

/** Our own errors are marked. The others come from the SDK's validator, whose text reveals too much. */
const OURS = Symbol("of this server")

const tidy = (message: object) => {
  const { error } = message as { readonly error?: { readonly code: number; readonly data?: unknown } }
  if (error === undefined || error.code !== INTERNAL_ERROR) return message
  return error.data === OURS
    ? { ...message, error: { ...error, data: undefined } }
    : { ...message, error: { code: INVALID_PARAMS, message: "The parameters of this method are not valid." } }
}

const toThrown = ({ code, message }: RpcError) =>
  Object.assign(new Error(message), { code, data: code === INTERNAL_ERROR ? OURS : undefined })

export class McpServer extends Effect.Service<McpServer>()("@posthorn/server/McpServer", {
  dependencies: [Methods.Default],
  effect: Effect.gen(function* () {
    const methods = yield* Methods
    const { version } = yield* ServerConfig
    const runtime = yield* Effect.runtime<never>()

    const serverFor = (context: McpContext) => {
      const server = new Server(
        { name: "posthorn", title: "Posthorn", version },
        { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS }
      )
      server.fallbackRequestHandler = async ({ method, params }, { signal }) => {
        const exit = await Runtime.runPromiseExit(runtime)(methods.run(method, params, context), { signal })
        if (Exit.isSuccess(exit)) return exit.value as Record<string, unknown>
        const failure = Cause.failureOption(exit.cause)
        throw failure._tag === "Some" ? toThrown(failure.value) : new Error("interrupted")
      }
      return server
    }

    const answer = (messages: ReadonlyArray<Message>, context: McpContext) =>
      Effect.acquireUseRelease(
        Effect.promise(async () => {
          const transport = new RequestTransport()
          const server = serverFor(context)
          await server.connect(transport)
          return { transport, server }
        }),
        ({ transport }) => Effect.promise(() => transport.ask(messages)),
        ({ server }) => Effect.promise(() => server.close())
      )

    return { answer } as const
  })
}) {}
