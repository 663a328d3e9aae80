/**
 * The one place that turns failures into answers: `application/problem+json` by the contract's table.
 *
 * It handles the contract's errors, requests that do not decode, unreadable bodies, unknown paths, and defects. The answer to a
 * defect contains nothing but the trace id, under which the log has the cause. An unavailable database is 503. Source: spec
 * §7.1.
 */
import { HttpApiError, HttpServerError, HttpServerResponse } from "@effect/platform"
import { PROBLEM_JSON, problems, toProblem } from "@posthorn/api-contract/Problem"
import { isDatabaseAway, isWorkspaceGone } from "@posthorn/capabilities/Health"
import {
  InternalError,
  InvalidRequest,
  invalid,
  type PublicError,
  ServiceUnavailable,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { makeTrouble, reasonOf } from "@posthorn/telemetry/Trouble"
import { Cause, Effect } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import { issuesOf } from "./DecodeMessages.ts"

const RETRY_AFTER_SECONDS = 2

/** Logs, once each, that the database is unavailable, and that it answers again. */
export class DatabaseTrouble extends Effect.Service<DatabaseTrouble>()("@posthorn/server/DatabaseTrouble", {
  sync: () => makeTrouble("The database is away", "The database answers again")
}) {}

/** Head and text of a refusal, to be written to a socket. */
export const problemOf = (error: PublicError, baseUrl: string, traceId: string) => {
  const headers: Record<string, string> = {}
  if (error._tag === "Unauthorized") headers["www-authenticate"] = "Bearer"
  if (error._tag === "RateLimited" || error._tag === "ServiceUnavailable")
    headers["retry-after"] = String(error.retryAfterSeconds)
  if (error._tag === "MethodNotAllowed") headers.allow = error.allow
  // The rest of the body could not be told from the next request.
  if (error._tag === "RequestTimeout") headers.connection = "close"
  const body = JSON.stringify(toProblem(error, { baseUrl, traceId }))
  return { status: problems[error._tag].status, headers, body }
}

const isPublic = (error: unknown): error is PublicError =>
  error instanceof Error &&
  "_tag" in error &&
  String(error._tag) in problems &&
  !HttpServerError.isServerError(error)

/** The library's type name for a response that it is about to encode. */
const RESPONSE = "(<declaration schema> <->"

/** The refusal for a failure; undefined for a defect. */
const refusalOf = (failure: unknown, missing: () => PublicError): PublicError | undefined => {
  if (isPublic(failure)) return failure
  if (HttpServerError.isServerError(failure) && failure._tag === "RouteNotFound") return missing()
  if (failure instanceof HttpApiError.HttpApiDecodeError)
    return failure.message.startsWith(RESPONSE)
      ? undefined
      : new InvalidRequest({ issues: issuesOf(failure.issues) })
  return undefined
}

const isRequestError = (defect: unknown): defect is HttpServerError.RequestError =>
  HttpServerError.isServerError(defect) && defect._tag === "RequestError"

export class Failures extends Effect.Service<Failures>()("@posthorn/server/Failures", {
  dependencies: [DatabaseTrouble.Default],
  effect: Effect.gen(function* () {
    const { baseUrl } = yield* ServerConfig
    const trouble = yield* DatabaseTrouble

    const refuse = (error: PublicError, traceId: string) => {
      const { body, headers, status } = problemOf(error, baseUrl, traceId)
      return HttpServerResponse.raw(body, {
        status,
        headers,
        contentType: PROBLEM_JSON,
        contentLength: Buffer.byteLength(body)
      })
    }

    const unforeseen = (
      defect: unknown,
      cause: Cause.Cause<unknown>,
      traceId: string
    ): Effect.Effect<PublicError> => {
      if (isRequestError(defect))
        return Effect.succeed(
          isPublic(defect.cause) ? defect.cause : invalid("", "The request cannot be read")
        )
      if (isWorkspaceGone(defect)) return Effect.succeed(new WorkspaceNotFound())
      const unavailable = new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })
      if (isDatabaseAway(defect)) return Effect.as(trouble.failed(reasonOf(defect)), unavailable)
      // Interrupted by its deadline, or because its client has gone: the answer only appears in the meters.
      if (Cause.isInterruptedOnly(cause)) return Effect.succeed(unavailable)
      return Effect.as(
        Effect.annotateLogs(Effect.logError("Unforeseen", cause), { traceId }),
        new InternalError()
      )
    }

    /** The answer to a failure. `missing` gives the error for a request without a route. */
    const answer = (
      cause: Cause.Cause<unknown>,
      traceId: string,
      missing: () => PublicError
    ): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
      const failure = Cause.failureOption(cause)
      const refusal = failure._tag === "Some" ? refusalOf(failure.value, missing) : undefined
      return refusal === undefined
        ? Effect.map(unforeseen(Cause.squash(cause), cause, traceId), (error) => refuse(error, traceId))
        : Effect.succeed(refuse(refusal, traceId))
    }

    return { answer, refuse } as const
  })
}) {}
