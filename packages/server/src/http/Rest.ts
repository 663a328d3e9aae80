/**
 * The REST door, and the console's beside it: the contract's operations on the builder's router, each behind its gate.
 *
 * The public API accepts a bearer token and nothing else: cookies and query strings are never looked at for one. The
 * builder is given the operations' paths and gates alone: what it would decode itself it decodes part by part, so that
 * the second fault is told after the first is mended, and it passes over unknown members of a query. `Decode` tells all
 * at once, for MCP as well. Source: spec §4 and §5, ADR 0004; body limits: decision §2.
 */
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiEndpoint,
  HttpApiGroup,
  type HttpRouter,
  HttpServerRequest
} from "@effect/platform"
import { CallerGate, OperatorGate, WorkspaceGate } from "@posthorn/api-contract/Gates"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { type InvalidRequest, invalid, type PublicError, UnsupportedMediaType } from "@posthorn/domain/Errors"
import { parseJson } from "@posthorn/domain/JsonText"
import { callerSpan } from "@posthorn/domain/TraceId"
import { Context, Effect, Either, Layer, Option } from "effect"
import * as FindMyWay from "find-my-way-ts"
import { Calls } from "../Calls.ts"
import { SessionDoor } from "../console/SessionDoor.ts"
import type { RawRequest } from "../Decode.ts"
import { type Admitted, type Caller, Gate, keyOf } from "../Gate.ts"
import type { Provided } from "../Operations.ts"
import { isJson, readBody } from "./Body.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import { Exchange, type Match } from "./Exchange.ts"
import { type Sent, wrapped } from "./Send.ts"

const parsedBody = (
  text: string,
  raw: ReadonlyArray<ReadonlyArray<string>>
): Either.Either<unknown, InvalidRequest> =>
  text.trim() === ""
    ? Either.left(invalid("", "The body is empty: send a JSON object"))
    : Either.mapLeft(parseJson(text, raw, { rawUnparsed: true }), ({ message, path }) =>
        invalid(path, message)
      )

/** Members of the query string; of one that is repeated the last counts. */
const queryOf = (search: string): Record<string, string> => {
  // Without a prototype, so that `__proto__` is a name like any other.
  const query: Record<string, string> = Object.create(null)
  if (search !== "") for (const [name, value] of new URLSearchParams(search)) query[name] = value
  return query
}

const NOTHING: ReadonlySet<string> = new Set()

/** Whether no body follows these headers. */
const isEmpty = (headers: Exchange["headers"]) =>
  headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0

/** More than a request line can have: a long id is an unknown id, not an unknown path. */
const MAX_PARAM = 20_000

const METHODS = ["GET", "POST", "PATCH", "DELETE"]

type AnyGroup = HttpApiGroup.HttpApiGroup<"operations", HttpApiEndpoint.HttpApiEndpoint.Any, never>

/** The contract as the builder routes it. */
const routed = HttpApi.make("posthorn").add(
  entries.reduce(
    (group, { gate, method, name, path }) =>
      group.add(
        HttpApiEndpoint.make(method)(name, path as `/${string}`).middleware(gate as typeof WorkspaceGate)
      ),
    HttpApiGroup.make("operations") as AnyGroup
  )
)

/** What the builder lets one add handlers to; `Bindings` has checked what is added. */
interface Handlers {
  readonly handleRaw: (name: string, handler: () => Effect.Effect<Sent, never, unknown>) => Handlers
}

/** An operation behind its gate, as the builder has put them together. */
type Guarded = Effect.Effect<Sent, PublicError, HttpRouter.HttpRouter.Provided>

export class Rest extends Effect.Service<Rest>()("@posthorn/server/Rest", {
  dependencies: [Calls.Default, Gate.Default, SessionDoor.Default],
  scoped: Effect.gen(function* () {
    const calls = yield* Calls
    const gate = yield* Gate
    const session = yield* SessionDoor
    const { bodyMs } = yield* ConnectionLimits

    const read = (exchange: Exchange, entry: ContractEntry): Effect.Effect<RawRequest, PublicError> => {
      const { headers } = exchange
      const { path } = exchange.match!
      const base = { path, query: queryOf(exchange.search), headers }
      if (Option.isNone(entry.bodySchema)) return Effect.succeed<RawRequest>({ ...base, body: undefined })
      if (entry.rules.optionalBody === true && isEmpty(headers)) {
        return Effect.succeed<RawRequest>({ ...base, body: {} })
      }
      if (!isJson(headers)) return Effect.fail(new UnsupportedMediaType())
      return Effect.flatMap(readBody(exchange, bodyMs), (text) =>
        entry.rules.optionalBody === true && text.trim() === ""
          ? Either.right<RawRequest>({ ...base, body: {} })
          : Either.map(parsedBody(text, entry.rules.raw ?? []), (body): RawRequest => {
              return { ...base, body, json: { text, without: NOTHING } }
            })
      )
    }

    const authenticate = (exchange: Exchange, slug?: string): Effect.Effect<Caller, PublicError> =>
      exchange.via === "console"
        ? session.authenticate(exchange, slug)
        : gate.authenticate(exchange, exchange.headers.authorization, exchange.address)

    /** All three gates: they differ in what `admit` makes of the caller. */
    const enter = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const exchange = Exchange.of(request)
      const { entry, path } = exchange.match!
      return Effect.flatMap(authenticate(exchange, path.slug), (caller) => {
        exchange.caller = keyOf(caller)
        return gate.admit(caller, entry, path.slug, entry.rules.bucket, exchange)
      })
    })
    // The builder's bearer is whatever stands behind seven characters: `authenticate` reads the header itself.
    const security = { bearer: () => enter } as never

    const answer = (entry: ContractEntry) =>
      Effect.contextWithEffect((context: Context.Context<HttpServerRequest.HttpServerRequest | Provided>) => {
        const exchange = Exchange.of(Context.get(context, HttpServerRequest.HttpServerRequest))
        const admitted = Context.get(context, entry.gate.provides as Context.Tag<Provided, Admitted>)
        return Effect.map(
          calls.call({
            entry,
            caller: exchange.caller,
            admitted,
            visit: exchange,
            read: read(exchange, entry),
            span: callerSpan(exchange.headers.traceparent)
          }),
          wrapped
        )
      })

    // Nothing else is around them: the builder gives each handler all that was around when it was made.
    const gates = Context.make(CallerGate, security).pipe(
      Context.add(OperatorGate, security),
      Context.add(WorkspaceGate, security)
    )
    const handled = (handlers: unknown) =>
      entries.reduce((all, entry) => all.handleRaw(entry.name, () => answer(entry)), handlers as Handlers)
    const group = HttpApiBuilder.group(routed, "operations", (handlers) => handled(handlers) as never)
    const built = yield* Layer.buildWithScope(
      Layer.provideMerge(group as Layer.Layer<never>, HttpApiBuilder.Router.Live),
      yield* Effect.scope
    ).pipe(Effect.mapInputContext((_: Context.Context<never>) => gates as Context.Context<never>))
    const { routes } = yield* Context.get(built, HttpApiBuilder.Router).router
    const router = FindMyWay.make<{ readonly entry: ContractEntry; readonly guarded: Guarded }>({
      maxParamLength: MAX_PARAM
    })
    for (const { handler, method, path } of routes) {
      const entry = entries.find((each) => each.method === method && each.path === path)!
      router.on(method, path as FindMyWay.PathInput, { entry, guarded: handler as Guarded })
    }

    /** What lets this request in and answers it; undefined when it names no operation. A HEAD is the GET without its body. */
    const find = (exchange: Exchange): Guarded | undefined => {
      const { method, url } = exchange
      const found = router.find(method === "HEAD" ? "GET" : method, url)
      if (found === undefined) return undefined
      const { entry, guarded } = found.handler
      exchange.match = { entry, path: found.params as Match["path"] }
      return guarded
    }

    /** The methods that this path answers, or undefined when no operation lives there. */
    const allowed = ({ url }: Exchange): string | undefined => {
      const methods = METHODS.filter((method) => router.find(method, url) !== undefined)
      if (methods.length === 0) return undefined
      return (methods.includes("GET") ? [...methods, "HEAD"] : methods).join(", ")
    }

    return { allowed, find } as const
  })
}) {}
