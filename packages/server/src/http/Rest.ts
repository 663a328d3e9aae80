/**
 * The REST door: a request that names an operation of the contract becomes one call.
 *
 * The public API accepts a bearer token and nothing else: cookies and query strings are never looked at for one.
 * Source: spec §4 and §5; body limits: decision §2.
 */
import type { IncomingMessage } from "node:http"
import { HttpServerResponse } from "@effect/platform"
import { type InvalidRequest, invalid, type PublicError, UnsupportedMediaType } from "@posthorn/domain/Errors"
import { parseJson } from "@posthorn/domain/JsonText"
import type { Via } from "@posthorn/domain/Principal"
import { Effect, Either, Option } from "effect"
import { type Answer, Calls } from "../Calls.ts"
import type { RawRequest } from "../Decode.ts"
import { type Caller, Gate } from "../Gate.ts"
import { isJson, readMessage } from "./Body.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import type { Match } from "./Routes.ts"

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
const isEmpty = (headers: IncomingMessage["headers"]) =>
  headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0

/** Response for an answer, under its trace id. */
export const toResponse = (answer: Answer, traceId: string) =>
  HttpServerResponse.text(answer.body, {
    status: answer.status,
    headers: { ...answer.headers, "x-trace-id": traceId },
    ...(answer.contentType === null ? {} : { contentType: answer.contentType })
  })

/** Who lets callers in: the public API by their token, the console by its cookie. */
export interface Door {
  readonly via: Via
  readonly authenticate: (
    message: IncomingMessage,
    slug: string | undefined
  ) => Effect.Effect<Caller, PublicError>
}

export class Rest extends Effect.Service<Rest>()("@posthorn/server/Rest", {
  dependencies: [Calls.Default, Gate.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const gate = yield* Gate
    const { bodyMs } = yield* ConnectionLimits

    const read = (message: IncomingMessage, { entry, path }: Match, search: string) => {
      const base = { path, query: queryOf(search), headers: message.headers as RawRequest["headers"] }
      if (Option.isNone(entry.bodySchema)) return Effect.succeed<RawRequest>({ ...base, body: undefined })
      if (entry.rules.optionalBody === true && isEmpty(message.headers)) {
        return Effect.succeed<RawRequest>({ ...base, body: {} })
      }
      if (!isJson(message.headers)) return Effect.fail(new UnsupportedMediaType())
      return Effect.flatMap(readMessage(message, bodyMs), (text) =>
        entry.rules.optionalBody === true && text.trim() === ""
          ? Either.right<RawRequest>({ ...base, body: {} })
          : Either.map(
              parsedBody(text, entry.rules.raw ?? []),
              (body): RawRequest => ({
                ...base,
                body,
                json: { text, without: NOTHING }
              })
            )
      )
    }

    const bearer: Door = {
      via: "rest",
      authenticate: ({ headers, socket }) =>
        gate.authenticate(headers.authorization, socket.remoteAddress ?? "")
    }

    /** Run the operation that the request names; every outcome is an answer. */
    const handle = (
      message: IncomingMessage,
      match: Match,
      search: string,
      traceId: string,
      door: Door = bearer
    ): Effect.Effect<Answer> =>
      door.authenticate(message, match.path.slug).pipe(
        Effect.flatMap((caller) =>
          calls.call({
            entry: match.entry,
            caller,
            passage: { via: door.via, traceId, slug: match.path.slug, bucket: match.entry.rules.bucket },
            read: read(message, match, search) as Effect.Effect<RawRequest, PublicError>
          })
        ),
        Effect.catchAll((error) => Effect.succeed(calls.refuse(error, traceId))),
        Effect.catchAllCause((cause) => calls.unforeseen(cause, traceId))
      )

    return { handle } as const
  })
}) {}
