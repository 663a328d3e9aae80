/**
 * One call of one operation, the same for every door: admitted by the gate, decoded, run, answered.
 *
 * `body` is asked for only after the gate has let the caller in. The answer is JSON text: operations answer in wire
 * form, which the types have checked against the contract, so nothing is encoded field by field on the way out
 * (that encoding was most of the cost of a list). Source: ADR 0004.
 */
import { problems, toProblem } from "@posthorn/api-contract/Problem"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { isDatabaseAway, isWorkspaceGone } from "@posthorn/capabilities/Health"
import {
  InternalError,
  type PublicError,
  ServiceUnavailable,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { stringify } from "@posthorn/domain/JsonText"
import { CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { Cause, Context, Effect } from "effect"
import { type DecodedRequest, decoderOf, type RawRequest } from "./Decode.ts"
import { entityTagOf, type Settings } from "./EntityTag.ts"
import { type Caller, Gate, keyOf, type Passage } from "./Gate.ts"
import { Operations } from "./Operations.ts"
import { type Answer, Performance } from "./Performance.ts"
import { type BucketState, headersOf, stateOf } from "./RateLimits.ts"
import { ServerConfig } from "./ServerConfig.ts"

export type { Answer }

type Run = (
  request: DecodedRequest
) => Effect.Effect<unknown, PublicError, CurrentOperator | CurrentPrincipal>

export interface Call {
  readonly entry: ContractEntry
  readonly caller: Caller
  readonly passage: Passage
  readonly read: Effect.Effect<RawRequest, PublicError>
}

const NO_CONTENT = 204
const RETRY_AFTER_SECONDS = 2

export class Calls extends Effect.Service<Calls>()("@posthorn/server/Calls", {
  dependencies: [Gate.Default, Operations.Default, Performance.Default],
  effect: Effect.gen(function* () {
    const { baseUrl } = yield* ServerConfig
    const gate = yield* Gate
    const keyed = yield* Performance
    const { table } = yield* Operations

    const prepared = new Map(
      entries.map((entry) => [
        entry.name,
        { run: table[entry.name as keyof typeof table] as unknown as Run, decode: decoderOf(entry) }
      ])
    )

    const succeed = (entry: ContractEntry, path: RawRequest["path"], value: unknown): Answer => {
      const { location, secret, statusOf, tagged } = entry.rules
      const headers: Record<string, string> = {}
      if (secret === true) headers["cache-control"] = "no-store"
      if (tagged === true) headers.etag = entityTagOf(value as Settings)
      const created = location?.(path, value as { readonly id?: string }) ?? null
      if (created !== null) headers.location = `${baseUrl}${created}`
      if (entry.successStatus === NO_CONTENT)
        return { status: NO_CONTENT, contentType: null, headers, body: "" }
      const status = statusOf === undefined ? entry.successStatus : statusOf(value as object)
      return { status, contentType: "application/json", headers, body: stringify(value) }
    }

    /** A refusal as it goes through a door; it reports the bucket it was counted in. */
    const refuse = (
      error: PublicError,
      traceId: string,
      bucket: BucketState | null = stateOf(error)
    ): Answer => {
      const headers: Record<string, string> = bucket === null ? {} : headersOf(bucket)
      if (error._tag === "Unauthorized") headers["www-authenticate"] = "Bearer"
      if (error._tag === "RateLimited" || error._tag === "ServiceUnavailable") {
        headers["retry-after"] = String(error.retryAfterSeconds)
      }
      if (error._tag === "MethodNotAllowed") headers.allow = error.allow
      // What is still to come of it cannot be told from a next request.
      if (error._tag === "RequestTimeout") headers.connection = "close"
      return {
        status: problems[error._tag].status,
        contentType: "application/problem+json",
        headers,
        body: JSON.stringify(toProblem(error, { baseUrl, traceId }))
      }
    }

    /**
     * What nobody foresaw, as an answer: a database that is away is 503; anything else is 500 with nothing in it but the
     * trace id, under which the log has the cause.
     */
    const unforeseen = (
      cause: Cause.Cause<never>,
      traceId: string,
      bucket: BucketState | null = null
    ): Effect.Effect<Answer> => {
      if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
      const defect = Cause.squash(cause)
      if (isWorkspaceGone(defect)) return Effect.succeed(refuse(new WorkspaceNotFound(), traceId, bucket))
      const away = isDatabaseAway(defect)
      const error = away
        ? new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })
        : new InternalError()
      // An outage fails every call: one line each, without the same stack a thousand times.
      const log = away
        ? Effect.logWarning(`The database is away: ${reasonOf(defect)}`)
        : Effect.logError("Unforeseen", cause)
      return log.pipe(Effect.annotateLogs({ traceId }), Effect.as(refuse(error, traceId, bucket)))
    }

    /** Run the operation; every outcome is an answer. */
    const call = ({ caller, entry, passage, read }: Call): Effect.Effect<Answer> =>
      gate.admit(caller, entry, passage).pipe(
        Effect.flatMap(({ bucket, operator, principal }) => {
          const { decode, run } = prepared.get(entry.name)!
          return read.pipe(
            Effect.flatMap((raw) =>
              Effect.flatMap(decode(raw), (request) =>
                keyed.perform(
                  { entry, raw, request, caller: keyOf(caller), workspaceId: principal?.workspaceId ?? null },
                  run(request),
                  (value) => succeed(entry, raw.path, value)
                )
              )
            ),
            Effect.map((answer) =>
              bucket === null ? answer : { ...answer, headers: { ...headersOf(bucket), ...answer.headers } }
            ),
            Effect.catchAll((error) => Effect.succeed(refuse(error, passage.traceId, bucket))),
            Effect.catchAllCause((cause) => unforeseen(cause, passage.traceId, bucket)),
            Effect.provide(callerContext(principal, operator))
          )
        }),
        Effect.catchAll((error) => Effect.succeed(refuse(error, passage.traceId))),
        Effect.catchAllCause((cause) => unforeseen(cause, passage.traceId))
      )

    return { call, refuse, unforeseen } as const
  })
}) {}

const reasonOf = (defect: unknown) => {
  const { cause, message } = defect as { readonly cause?: unknown; readonly message: string }
  return cause instanceof Error ? cause.message : message
}

/** An operation reads the principal, or the operator; the gate has made the one it needs. */
const callerContext = (
  principal: CurrentPrincipal["Type"] | undefined,
  operator: CurrentOperator["Type"] | undefined
): Context.Context<CurrentOperator | CurrentPrincipal> => {
  let context = Context.empty() as Context.Context<never>
  if (principal !== undefined) context = Context.add(context, CurrentPrincipal, principal) as typeof context
  if (operator !== undefined) context = Context.add(context, CurrentOperator, operator) as typeof context
  return context as Context.Context<CurrentOperator | CurrentPrincipal>
}
