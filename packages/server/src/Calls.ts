/**
 * One call of one operation, the same for every door: whom the gate has let in is decoded, run, answered.
 *
 * `read` is asked for only after the gate. The answer is JSON text: operations answer in wire form, which the types have
 * checked against the contract, so nothing is encoded field by field on the way out (that encoding was most of the cost
 * of a list). Source: ADR 0004.
 */
import { problems, toProblem } from "@posthorn/api-contract/Problem"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { isDatabaseAway, isWorkspaceGone } from "@posthorn/capabilities/Health"
import { andThen, recover } from "@posthorn/domain/AtOnce"
import {
  InternalError,
  type PublicError,
  ServiceUnavailable,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { stringify } from "@posthorn/domain/JsonText"
import type { CallerSpan } from "@posthorn/domain/TraceId"
import { makeTrouble, reasonOf } from "@posthorn/telemetry/Trouble"
import { Cause, Effect, Either } from "effect"
import { type DecodedRequest, decoderOf, type RawRequest } from "./Decode.ts"
import { entityTagOf, type Settings } from "./EntityTag.ts"
import type { Admitted } from "./Gate.ts"
import { Operations, type Provided } from "./Operations.ts"
import { type Answer, Performance } from "./Performance.ts"
import type { Visit } from "./RateLimits.ts"
import { requestSpans } from "./RequestSpans.ts"
import { ServerConfig } from "./ServerConfig.ts"

export type { Answer }

type Run = (request: DecodedRequest) => Effect.Effect<unknown, PublicError, Provided>

export interface Call {
  readonly entry: ContractEntry
  /** Whose idempotency keys are meant. */
  readonly caller: string
  /** What the gate of the operation has made of the caller. */
  readonly admitted: Admitted
  readonly visit: Visit
  readonly read: Effect.Effect<RawRequest, PublicError>
  readonly span?: CallerSpan | undefined
}

const NO_CONTENT = 204
const RETRY_AFTER_SECONDS = 2

export class Calls extends Effect.Service<Calls>()("@posthorn/server/Calls", {
  dependencies: [Operations.Default, Performance.Default],
  effect: Effect.gen(function* () {
    const { baseUrl } = yield* ServerConfig
    const keyed = yield* Performance
    const { table } = yield* Operations
    const traced = yield* requestSpans
    const trouble = makeTrouble("The database is away", "The database answers again")

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

    /** A refusal as it goes through a door. */
    const refuse = (error: PublicError, { traceId }: Visit): Answer => {
      const headers: Record<string, string> = {}
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
    const unforeseen = (cause: Cause.Cause<never>, visit: Visit): Effect.Effect<Answer> => {
      if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
      const defect = Cause.squash(cause)
      if (isWorkspaceGone(defect)) return Effect.succeed(refuse(new WorkspaceNotFound(), visit))
      const away = isDatabaseAway(defect)
      const error = away
        ? new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })
        : new InternalError()
      const log = away
        ? trouble.failed(reasonOf(defect))
        : Effect.annotateLogs(Effect.logError("Unforeseen", cause), { traceId: visit.traceId })
      return Effect.as(log, refuse(error, visit))
    }

    /** Every outcome is an answer. */
    const settle =
      (visit: Visit) =>
      <A, R>(answering: Effect.Effect<A, PublicError, R>): Effect.Effect<A | Answer, never, R> =>
        recover(answering, (cause): Effect.Effect<Answer> => {
          const failure = Cause.failureOrCause(cause)
          return Either.isLeft(failure)
            ? Effect.succeed(refuse(failure.left, visit))
            : unforeseen(failure.right, visit)
        })

    /** Run the operation for whom its gate has let in; to be settled by the door. */
    const call = ({
      admitted,
      caller,
      entry,
      read,
      span,
      visit
    }: Call): Effect.Effect<Answer, PublicError, Provided> => {
      const { decode, run } = prepared.get(entry.name)!
      const workspaceId = "workspaceId" in admitted ? admitted.workspaceId : null
      const performing = andThen(read, (raw) => {
        const decoded = decode(raw)
        if (Either.isLeft(decoded)) return Effect.fail(decoded.left)
        const performed = { entry, raw, request: decoded.right, caller, workspaceId }
        const answering = keyed.perform(performed, run(decoded.right), (value) =>
          succeed(entry, raw.path, value)
        )
        return andThen(answering, trouble.passing)
      })
      return traced(entry, visit, span)(performing, settle(visit))
    }

    return { call, refuse, settle } as const
  })
}) {}
