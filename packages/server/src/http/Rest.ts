/**
 * The REST door, and the console's beside it: the contract's operations on the builder's matcher, each behind its gate.
 *
 * The public API accepts a bearer token and nothing else: cookies and query strings are never looked at for one. Gate and
 * call are put together here and not by `HttpApiBuilder`, which sets the fiber's context four times for each request and
 * compares it each time. Source: spec §4 and §5, ADR 0004; body limits: decision §2.
 */
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { andThen } from "@posthorn/domain/AtOnce"
import { type InvalidRequest, invalid, type PublicError, UnsupportedMediaType } from "@posthorn/domain/Errors"
import { parseJson } from "@posthorn/domain/JsonText"
import { callerSpan } from "@posthorn/domain/TraceId"
import { Context, Effect, Either, Option } from "effect"
import * as FindMyWay from "find-my-way-ts"
import { type Answer, Calls } from "../Calls.ts"
import { SessionDoor } from "../console/SessionDoor.ts"
import type { RawRequest } from "../Decode.ts"
import { type Admitted, type Caller, Gate, keyOf } from "../Gate.ts"
import type { Provided } from "../Operations.ts"
import { isJson, readBody } from "./Body.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import type { Exchange, Match } from "./Exchange.ts"

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

/**
 * Tells the operation who was let in: with what the request is answered with. After a wait at the gate that is a fiber, which is
 * told in Effect's own way: that copies what the fiber knows, and compares it, twice.
 */
const telling = <I, S, A, E>(
  exchange: Exchange,
  tag: Context.Tag<I, S>,
  service: S,
  self: Effect.Effect<A, E, I>
): Effect.Effect<A, E> => {
  if (exchange.isUnderWay) return Effect.provideService(self, tag, service)
  exchange.known = Context.make(tag, service) as Context.Context<never>
  return self as Effect.Effect<A, E>
}

/** What lets a request in and answers it. */
type Guarded = Effect.Effect<Answer, PublicError>

export class Rest extends Effect.Service<Rest>()("@posthorn/server/Rest", {
  dependencies: [Calls.Default, Gate.Default, SessionDoor.Default],
  effect: Effect.gen(function* () {
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
      return andThen(readBody(exchange, bodyMs), (text): Effect.Effect<RawRequest, PublicError> => {
        if (entry.rules.optionalBody === true && text.trim() === "")
          return Effect.succeed({ ...base, body: {} })
        const parsed = parsedBody(text, entry.rules.raw ?? [])
        return Either.isLeft(parsed)
          ? Effect.fail(parsed.left)
          : Effect.succeed({ ...base, body: parsed.right, json: { text, without: NOTHING } })
      })
    }

    const authenticate = (exchange: Exchange, slug?: string): Effect.Effect<Caller, PublicError> =>
      exchange.via === "console"
        ? session.authenticate(exchange, slug)
        : gate.authenticate(exchange, exchange.headers.authorization, exchange.address)

    /** All three gates: they differ in what `admit` makes of the caller. */
    const guarded = (exchange: Exchange, { entry, path }: Match): Guarded =>
      andThen(authenticate(exchange, path.slug), (caller) => {
        exchange.caller = keyOf(caller)
        return andThen(gate.admit(caller, entry, path.slug, entry.rules.bucket, exchange), (admitted) => {
          const call = calls.call({
            entry,
            caller: exchange.caller,
            admitted,
            visit: exchange,
            read: read(exchange, entry),
            span: callerSpan(exchange.headers.traceparent)
          })
          return telling(exchange, entry.gate.provides as Context.Tag<Provided, Admitted>, admitted, call)
        })
      })

    const router = FindMyWay.make<ContractEntry>({ maxParamLength: MAX_PARAM })
    for (const entry of entries) router.on(entry.method, entry.path as FindMyWay.PathInput, entry)

    /** What answers this request, let in already if all is known for that; undefined when it names no operation. A HEAD is the GET without its body. */
    const find = (exchange: Exchange): Guarded | undefined => {
      const { method, url } = exchange
      const found = router.find(method === "HEAD" ? "GET" : method, url)
      if (found === undefined) return undefined
      exchange.match = { entry: found.handler, path: found.params as Match["path"] }
      return guarded(exchange, exchange.match)
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
