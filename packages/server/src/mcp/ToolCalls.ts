/**
 * Calls a tool: turns its arguments into the request that REST would get, and runs the same operation.
 *
 * Guarantees: a success is the REST answer's text; a refusal is a tool error whose text is the REST error body, and
 * carries no structured content, because clients check that against the output schema whatever the outcome. Payloads keep their
 * exact text in both directions. An unknown argument is refused. Null for a path or query argument means that it was left out,
 * because agents fill in arguments that they do not use. Source: spec §4.7.
 */
import {
  Headers,
  HttpApiBuilder,
  HttpRouter,
  HttpServerRequest,
  type HttpServerResponse
} from "@effect/platform"
import { type ContractEntry, keepsAnswers, membersOf } from "@posthorn/api-contract/Contract"
import { InvalidRequest, type Issue, RouteNotFound } from "@posthorn/domain/Errors"
import { JsonText, parseJson, stringify, UNBOUNDED } from "@posthorn/domain/JsonText"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Context, Effect, Either, Option, Predicate } from "effect"
import { MAX_ISSUES, pointer, UNKNOWN } from "../calls/DecodeMessages.ts"
import { Failures } from "../calls/Failures.ts"
import { answered } from "../calls/RequestMeters.ts"
import type { Caller } from "../gate/AuthenticatedCaller.ts"
import { type Call, CurrentCall } from "../gate/CurrentCall.ts"
import { bounded, parseBounds } from "../http/Admission.ts"
import { requestSpans } from "../http/RequestSpans.ts"
import { INVALID_PARAMS, PARSE_ERROR, RpcError } from "./JsonRpc.ts"
import type { McpContext } from "./McpContext.ts"
import { tools } from "./Tools.ts"

export interface ToolResult {
  readonly content: ReadonlyArray<{ readonly type: "text"; readonly text: string }>
  readonly structuredContent?: JsonText
  readonly isError?: true
}

type Arguments = Readonly<Record<string, unknown>>

/**
 * The request that REST would get. If the arguments are wrong as a whole, `fault` says why, and the rest is enough to find the
 * operation.
 */
interface Dealt {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly fault: InvalidRequest | null
}

const refused = (...issues: ReadonlyArray<Issue>) => new InvalidRequest({ issues })

const textsOf = (text: string, args: Arguments): Readonly<Record<string, unknown>> =>
  Either.getOrElse(
    parseJson(
      text,
      Object.keys(args).map((name) => [name]),
      UNBOUNDED
    ),
    () => args
  ) as Arguments

/** As text in a URL, so that the contract's decoders apply their limits and defaults. */
const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))

/** The call's workspace: a token has its own, the operator must name one. */
const slugOf = ({ slug }: Arguments, caller: Caller): string | InvalidRequest => {
  if (typeof slug === "string") return slug
  if (slug !== undefined && slug !== null) return refused({ path: "/slug", message: "Expected a string" })
  return caller.kind === "token"
    ? caller.identity.workspaceSlug
    : refused({ path: "/slug", message: "is missing" })
}

const ownSlug = (caller: Caller) => (caller.kind === "token" ? caller.identity.workspaceSlug : "-")

/** Distributes a tool's flat arguments over path, query and body. An argument that fits none of them is refused. */
const dealerOf = (entry: ContractEntry) => {
  const path = membersOf(entry.pathSchema)
  const query = new Set(membersOf(entry.querySchema))
  const elsewhere = new Set([...path, ...query, ...(keepsAnswers(entry) ? ["idempotencyKey"] : [])])
  const hasBody = Option.isSome(entry.bodySchema)
  return (args: Arguments, text: string, caller: Caller): Dealt => {
    const given = (name: string) => (Object.hasOwn(args, name) ? (args[name] ?? undefined) : undefined)
    const issues: Array<Issue> = []
    const slug = slugOf(args, caller)
    const url = entry.path.replace(/:(\w+)/g, (_, name: string) => {
      if (name === "slug") return encodeURIComponent(typeof slug === "string" ? slug : ownSlug(caller)) || "-"
      const value = given(name)
      if (value === undefined) issues.push({ path: pointer(name), message: "is missing" })
      return encodeURIComponent(asText(value ?? "-")) || "-"
    })
    const search = new URLSearchParams()
    for (const name of query) {
      const value = given(name)
      if (value !== undefined) search.set(name, asText(value))
    }
    // A page of payloads can fill a model's context (one had 9 MB), so a tool shows payloads only on request.
    if (query.has("payload") && !search.has("payload")) search.set("payload", "omit")
    const others = Object.entries(hasBody ? textsOf(text, args) : args).filter(
      ([name]) => !elsewhere.has(name)
    )
    const unknown = others.filter(([name]) => !hasBody || entry.rules.notInTool?.body.includes(name) === true)
    for (const [name] of unknown.slice(0, MAX_ISSUES)) issues.push({ path: pointer(name), message: UNKNOWN })
    const key = keepsAnswers(entry) ? given("idempotencyKey") : undefined
    const inSlug = entry.inWorkspace && typeof slug !== "string" ? slug : null
    return {
      url: search.size === 0 ? url : `${url}?${search}`,
      headers: key === undefined ? {} : { "idempotency-key": asText(key) },
      body: hasBody ? stringify(Object.fromEntries(others)) : "",
      fault: inSlug ?? (issues.length > 0 ? refused(...issues) : null)
    }
  }
}

const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string =>
  body._tag === "Raw"
    ? String(body.body)
    : body._tag === "Uint8Array"
      ? Buffer.from(body.body).toString("utf8")
      : "{}"

const toResult = (response: HttpServerResponse.HttpServerResponse): ToolResult => {
  const text = textOf(response)
  const content = [{ type: "text" as const, text }]
  return response.status < 400
    ? { content, structuredContent: new JsonText(text) }
    : { content, isError: true }
}

export class ToolCalls extends Effect.Service<ToolCalls>()("@posthorn/server/ToolCalls", {
  dependencies: [Failures.Default],
  effect: Effect.gen(function* () {
    const clock = yield* Effect.clock
    const failures = yield* Failures
    const traced = yield* requestSpans
    const operations = yield* Effect.flatMap(HttpApiBuilder.Router.router, HttpRouter.toHttpApp)
    const services = yield* Effect.context<HttpRouter.HttpRouter.DefaultServices>()
    const known = new Map(tools.map(({ entry, listed }) => [listed.name, { entry, deal: dealerOf(entry) }]))

    /** The arguments as an object, in which raw members are still text. Text that is not JSON is a protocol error. */
    const parse = (
      entry: ContractEntry,
      text: string
    ): Effect.Effect<Arguments | InvalidRequest, RpcError> => {
      const raw = entry.rules.raw ?? []
      const parsed = parseJson(text, raw, parseBounds(raw))
      if (Either.isLeft(parsed)) {
        const { message, path, reason } = parsed.left
        return reason === "syntax"
          ? Effect.fail(new RpcError({ code: PARSE_ERROR, message }))
          : Effect.succeed(refused({ path, message }))
      }
      return Effect.succeed(
        Predicate.isRecord(parsed.right)
          ? parsed.right
          : refused({ path: "", message: "Expected an object of arguments" })
      )
    }

    const run = (entry: ContractEntry, { body, fault, headers, url }: Dealt, context: McpContext) => {
      const call: Call = {
        via: "mcp",
        traceId: context.traceId,
        connection: null,
        began: elapsed(clock),
        holder: { key: "" },
        authenticate: () => Effect.succeed(context.caller),
        deadline: null,
        isTool: true,
        fault
      }
      const request = bounded(
        context.request.modify({ headers: Headers.fromInput(headers) }),
        Effect.succeed(body),
        { method: entry.method, url }
      )
      const answering = operations.pipe(
        Effect.scoped,
        Effect.provide(
          services.pipe(
            Context.add(CurrentCall, call),
            Context.add(HttpServerRequest.HttpServerRequest, request)
          )
        ),
        Effect.catchAllCause((cause) => failures.answer(cause, context.traceId, () => new RouteNotFound()))
      )
      return traced === undefined ? answering : traced(entry, call)(answering)
    }

    const call = (
      name: string,
      text: JsonText | undefined,
      context: McpContext
    ): Effect.Effect<ToolResult, RpcError> => {
      const tool = context.choice.names?.has(name) === false ? undefined : known.get(name)
      if (tool === undefined) {
        const message = "There is no tool of this name: tools/list gives those this token may call."
        return Effect.fail(new RpcError({ code: INVALID_PARAMS, message }))
      }
      const { deal, entry } = tool
      const given = text?.text ?? "{}"
      return Effect.flatMap(parse(entry, given), (args) => {
        const began = elapsed(clock)
        const dealt =
          args instanceof InvalidRequest
            ? { ...deal({}, "{}", context.caller), fault: args }
            : deal(args, given, context.caller)
        // Without a workspace the gate cannot be passed, so the fault is answered at once. With a token's own workspace, the
        // gate comes first, as in REST.
        const isNowhere = dealt.fault !== null && context.caller.kind === "operator" && entry.inWorkspace
        const answering = isNowhere
          ? Effect.succeed(failures.refuse(dealt.fault, context.traceId))
          : run(entry, dealt, context)
        return Effect.map(answering, (response) => {
          answered(entry, "mcp", response.status, elapsed(clock) - began)
          return toResult(response)
        })
      })
    }

    return { call } as const
  })
}) {}
