/**
 * The protocol's methods, each a function from parameters to an effect. The SDK itself handles initialize and ping. Lists are
 * short and come in one piece, so there are no cursors.
 */

import { parseJson } from "@posthorn/domain/JsonText"
import { Cause, Effect, Either, Schema } from "effect"
import { OwnDocument } from "../http/OwnDocument.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { argumentsOf, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from "./JsonRpc.ts"
import type { McpContext } from "./McpContext.ts"
import { getPrompt, listedPrompts } from "./Prompts.ts"
import { makeResources } from "./Resources.ts"
import { ToolCalls } from "./ToolCalls.ts"
import { toolsFor } from "./Tools.ts"

type Method = (params: unknown, context: McpContext) => Effect.Effect<object, RpcError>

const ToolCall = Schema.Struct({ name: Schema.String })
const ResourceRead = Schema.Struct({ uri: Schema.String })
const PromptGet = Schema.Struct({ name: Schema.String })
const PromptArguments = Schema.Record({ key: Schema.String, value: Schema.String })
const List = Schema.Struct({ cursor: Schema.optional(Schema.Undefined) })

/** Parameters of this shape, or a protocol error that says what to do and repeats nothing of the input. */
const withParams =
  <A, I>(
    schema: Schema.Schema<A, I>,
    expected: string,
    run: (params: A, context: McpContext, raw: unknown) => Effect.Effect<object, RpcError>
  ): Method =>
  (raw, context) => {
    const params = Schema.decodeUnknownEither(schema)(raw ?? {})
    return Either.isRight(params)
      ? run(params.right, context, raw)
      : Effect.fail(new RpcError({ code: INVALID_PARAMS, message: expected }))
  }

const list = (run: (context: McpContext) => object) =>
  withParams(List, "This list has one page and takes no cursor.", (_, context) =>
    Effect.succeed(run(context))
  )

export class Methods extends Effect.Service<Methods>()("@posthorn/server/McpMethods", {
  dependencies: [OwnDocument.Default, ToolCalls.Default],
  effect: Effect.gen(function* () {
    const { baseUrl } = yield* ServerConfig
    const openApi = yield* OwnDocument
    const toolCalls = yield* ToolCalls
    const resources = makeResources(baseUrl, openApi.text)

    const methods: Readonly<Record<string, Method>> = {
      "tools/list": list(({ caller, choice }) => ({ tools: toolsFor(caller, choice) })),
      "tools/call": withParams(ToolCall, "Give the tool's `name`.", ({ name }, context, raw) =>
        toolCalls.call(name, argumentsOf(raw), context)
      ),
      "resources/list": list(() => ({ resources: resources.listed })),
      "resources/templates/list": list(() => ({ resourceTemplates: [] })),
      "resources/read": withParams(ResourceRead, "Give the resource's `uri`.", ({ uri }) =>
        resources.read(uri)
      ),
      "prompts/list": list(() => ({ prompts: listedPrompts })),
      "prompts/get": withParams(PromptGet, "Give the prompt's `name`.", ({ name }, _, raw) => {
        const given = parseJson(argumentsOf(raw)?.text ?? "{}", [])
        const args = Either.flatMap(given, Schema.decodeUnknownEither(PromptArguments))
        return Either.isRight(args)
          ? getPrompt(name, args.right)
          : Effect.fail(new RpcError({ code: INVALID_PARAMS, message: "A prompt's arguments are strings." }))
      })
    }

    const find = (name: string): Method =>
      Object.hasOwn(methods, name)
        ? methods[name]!
        : () =>
            Effect.fail(new RpcError({ code: METHOD_NOT_FOUND, message: "This server has no such method." }))

    const run = (method: string, params: unknown, context: McpContext) =>
      Effect.catchAllCause(
        Effect.suspend(() => find(method)(params, context)),
        (cause): Effect.Effect<never, RpcError> => {
          const failure = Cause.failureOption(cause)
          if (failure._tag === "Some") return Effect.fail(failure.value)
          if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
          const message = `Something went wrong on our side. Quote the trace id ${context.traceId} when you ask about it.`
          return Effect.logError("Unforeseen", cause).pipe(
            Effect.annotateLogs({ traceId: context.traceId }),
            Effect.zipRight(Effect.fail(new RpcError({ code: INTERNAL_ERROR, message })))
          )
        }
      )

    return { run } as const
  })
}) {}
