/**
 * Calling a tool: its arguments are dealt out to path, query and body, and the operation's own call is made with them.
 *
 * Guarantees: a success is the REST answer's text; a refusal is a tool error whose text is the REST error body, and
 * carries no structured content, because clients check that against the output schema whatever the outcome. Payloads
 * are carried to the letter, both ways. An argument that the tool does not have is refused; null for a path or query
 * argument means it was left out, as agents fill in what they do not use. Source: decision §4 (MCP).
 */
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import { InvalidRequest, type Issue } from "@posthorn/domain/Errors"
import { JsonText, parseJson } from "@posthorn/domain/JsonText"
import { type Context, Effect, Either, Option } from "effect"
import { type Answer, Calls } from "../Calls.ts"
import type { RawRequest } from "../Decode.ts"
import { type Admitted, type Caller, Gate, keyOf } from "../Gate.ts"
import { KEY_HEADER, keepsAnswers } from "../IdempotencyKey.ts"
import { MAX_ISSUES } from "../Judge.ts"
import type { Provided } from "../Operations.ts"
import type { Visit } from "../RateLimits.ts"
import { answered } from "../RequestMeters.ts"
import { pointer, UNKNOWN } from "../Sentences.ts"
import { INVALID_PARAMS, PARSE_ERROR, RpcError } from "./JsonRpc.ts"
import { membersOf } from "./ToolSchemas.ts"
import { tools } from "./Tools.ts"

export interface ToolResult {
  readonly content: ReadonlyArray<{ readonly type: "text"; readonly text: string }>
  readonly structuredContent?: JsonText
  readonly isError?: true
}

type Arguments = Readonly<Record<string, unknown>>

const refused = (...issues: ReadonlyArray<Issue>) => Either.left(new InvalidRequest({ issues }))

/** Arguments as an object, members that are carried to the letter still text. */
const parse = (
  text: JsonText | undefined,
  entry: ContractEntry
): Effect.Effect<Either.Either<Arguments, InvalidRequest>, RpcError> => {
  const parsed = parseJson(text?.text ?? "{}", entry.rules.raw ?? [], { rawUnparsed: true })
  if (Either.isRight(parsed)) return Effect.succeed(asObject(parsed.right))
  const { message, path, reason } = parsed.left
  return reason === "syntax"
    ? Effect.fail(new RpcError({ code: PARSE_ERROR, message }))
    : Effect.succeed(refused({ path, message }))
}

const asObject = (value: unknown): Either.Either<Arguments, InvalidRequest> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Either.right(value as Arguments)
    : refused({ path: "", message: "Expected an object of arguments" })

/** As a URL would carry it, so that the contract's own decoders clamp and default. */
const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))

interface Dealt {
  readonly path: Record<string, string>
  readonly query: Record<string, string>
  readonly body: object
  readonly headers: Record<string, string>
}

const NO_KEYS: ReadonlySet<string> = new Set()

/** Deals a tool's flat arguments out; what is neither path nor query is the body's, and refused where there is none. */
const dealerOf = (entry: ContractEntry) => {
  const path = new Set(membersOf(entry.pathSchema))
  const query = new Set(membersOf(entry.querySchema))
  const keys = keepsAnswers(entry) ? new Set(["idempotencyKey"]) : NO_KEYS
  const without = new Set([...path, ...query, ...keys])
  const body = new Set(membersOf(entry.bodySchema))
  const hasBody = Option.isSome(entry.bodySchema)
  return (
    args: Arguments,
    slug: string,
    text: JsonText | undefined
  ): Either.Either<RawRequest, InvalidRequest> => {
    const dealt: Dealt = { path: {}, query: {}, body: {}, headers: {} }
    const unknown: Array<Issue> = []
    let strange = 0
    for (const name in args) {
      const value = args[name]
      const part = path.has(name) ? dealt.path : query.has(name) ? dealt.query : undefined
      if (part !== undefined) {
        if (value !== null) part[name] = asText(value)
        continue
      }
      if (keys.has(name)) {
        if (value !== null) dealt.headers[KEY_HEADER] = asText(value)
        continue
      }
      // No more of them than will be listed: the rest would only cost.
      if (!body.has(name) && ++strange > MAX_ISSUES) continue
      if (hasBody) Object.defineProperty(dealt.body, name, { value, enumerable: true })
      else unknown.push({ path: pointer(name), message: UNKNOWN })
    }
    // A page of payloads can fill a model's memory (one had 9 MB): a tool shows them only when asked to.
    if (query.has("payload")) dealt.query.payload ??= "omit"
    if (entry.inWorkspace) dealt.path.slug = slug
    return unknown.length > 0
      ? refused(...unknown)
      : Either.right({
          ...dealt,
          body: hasBody ? dealt.body : undefined,
          json: hasBody && text !== undefined ? { text: text.text, without } : undefined
        })
  }
}

/** The workspace a call is for: a token has one of its own, the operator must say which. */
const slugOf = (
  args: Arguments,
  caller: Caller,
  entry: ContractEntry
): Either.Either<string | undefined, InvalidRequest> => {
  if (!entry.inWorkspace) return Either.right(undefined)
  const slug = args.slug ?? undefined
  if (slug === undefined) {
    return caller.kind === "token"
      ? Either.right(undefined)
      : refused({ path: "/slug", message: "is missing" })
  }
  return typeof slug === "string"
    ? Either.right(slug)
    : refused({ path: "/slug", message: "Expected a string" })
}

const toResult = (answer: Answer): ToolResult => {
  const text = answer.body === "" ? "{}" : answer.body
  const content = [{ type: "text" as const, text }]
  return answer.status < 400 ? { content, structuredContent: new JsonText(text) } : { content, isError: true }
}

export class ToolCalls extends Effect.Service<ToolCalls>()("@posthorn/server/ToolCalls", {
  dependencies: [Calls.Default, Gate.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const gate = yield* Gate
    const known = new Map(tools.map(({ entry, listed }) => [listed.name, { entry, deal: dealerOf(entry) }]))

    const run = (
      { deal, entry }: { readonly deal: ReturnType<typeof dealerOf>; readonly entry: ContractEntry },
      text: JsonText | undefined,
      args: Either.Either<Arguments, InvalidRequest>,
      caller: Caller,
      traceId: string
    ): Effect.Effect<Answer> => {
      // The door has counted it: a tool's call takes from no bucket of its own.
      const visit: Visit = { via: "mcp", traceId, bucket: null }
      const slug = Either.flatMap(args, (given) => slugOf(given, caller, entry))
      // Without a workspace there is no gate to pass; with a token's own, the gate comes first, as in REST.
      if (Either.isLeft(slug) && caller.kind === "operator") {
        return Effect.succeed(calls.refuse(slug.left, visit))
      }
      const read = Either.flatMap(Either.all({ args, slug }), (given) =>
        deal(given.args, given.slug ?? ownSlug(caller), text)
      )
      const admitting = Effect.suspend(() =>
        gate.admit(caller, entry, Either.getOrUndefined(slug), null, visit)
      )
      return Effect.flatMap(admitting, (admitted) =>
        Effect.provideService(
          calls.call({ entry, caller: keyOf(caller), admitted, visit, read }),
          entry.gate.provides as Context.Tag<Provided, Admitted>,
          admitted
        )
      ).pipe(calls.settle(visit))
    }

    /** The result of the tool of this name; a name that no tool has is the protocol's error. */
    const call = (
      name: string,
      text: JsonText | undefined,
      caller: Caller,
      traceId: string
    ): Effect.Effect<ToolResult, RpcError> => {
      const tool = known.get(name)
      if (tool === undefined) {
        const message = "There is no tool of this name: tools/list gives those this token may call."
        return Effect.fail(new RpcError({ code: INVALID_PARAMS, message }))
      }
      return Effect.flatMap(parse(text, tool.entry), (args) => {
        const began = performance.now()
        return Effect.map(run(tool, text, args, caller, traceId), (answer) => {
          answered(tool.entry, "mcp", answer.status, began)
          return toResult(answer)
        })
      })
    }

    return { call } as const
  })
}) {}

const ownSlug = (caller: Caller) => (caller.kind === "token" ? caller.identity.workspaceSlug : "")
