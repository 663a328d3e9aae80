/**
 * The one table from error tag to HTTP status and title, and the wire shape of every refusal.
 *
 * On the wire: RFC 9457 `application/problem+json` that also carries the tag and the error's own facts. REST, OpenAPI, the
 * client and MCP use this file. Because of `satisfies`, an error without a status does not compile. Source: spec §7 and §7.1.
 */
import { HttpApiSchema } from "@effect/platform"
import type * as Errors from "@posthorn/domain/Errors"
import { Context, Effect, ParseResult, Schema } from "effect"

export const PROBLEM_JSON = "application/problem+json"

export type Problems = Record<Errors.PublicError["_tag"], { readonly status: number; readonly title: string }>

export const problems = {
  InvalidWebhookUrl: { status: 400, title: "This URL cannot be delivered to" },
  InvalidSchema: { status: 400, title: "The schema is not accepted" },
  InvalidPayload: { status: 400, title: "The payload does not fit its schema" },
  InvalidRequest: { status: 400, title: "The request is not valid" },
  Unauthorized: { status: 401, title: "A valid API token is needed" },
  Forbidden: { status: 403, title: "The token lacks a permission" },
  ForeignOrigin: { status: 403, title: "The request comes from a foreign page" },
  WorkspaceNotFound: { status: 404, title: "No such workspace" },
  WebhookEndpointNotFound: { status: 404, title: "No such webhook endpoint" },
  WebhookDeliveryNotFound: { status: 404, title: "No such delivery" },
  EventInDelivery: { status: 409, title: "The event is still being delivered" },
  EventPurged: { status: 409, title: "The event was purged" },
  EventTypeNotFound: { status: 404, title: "No such event type" },
  EventNotFound: { status: 404, title: "No such event" },
  ApiTokenNotFound: { status: 404, title: "No such API token" },
  ConsoleSessionNotFound: { status: 404, title: "No such console session" },
  MemberNotFound: { status: 404, title: "No such member" },
  NotificationNotFound: { status: 404, title: "No such notification" },
  ReplayNotFound: { status: 404, title: "No such replay job" },
  TraceNotFound: { status: 404, title: "Nothing carries this id" },
  RouteNotFound: { status: 404, title: "No such path" },
  MethodNotAllowed: { status: 405, title: "The path does not answer this method" },
  RequestTimeout: { status: 408, title: "The request did not arrive in time" },
  WebhookEndpointDisabled: { status: 409, title: "The endpoint is disabled" },
  WebhookDeliveryNotReplayable: { status: 409, title: "The delivery cannot be sent again" },
  IdempotencyKeyReused: { status: 409, title: "The idempotency key was used for something else" },
  IdempotencyKeyInUse: { status: 409, title: "A call with this idempotency key is still running" },
  LimitReached: { status: 409, title: "There are as many as there may be" },
  WorkspaceSlugTaken: { status: 409, title: "The slug is taken" },
  ExternalIdTaken: { status: 409, title: "The external id is taken" },
  EmailNotConfigured: { status: 409, title: "No e-mail can be sent" },
  MemberEmailTaken: { status: 409, title: "The email address is taken" },
  PreconditionFailed: { status: 412, title: "It is not what If-Match asks for" },
  PayloadTooLarge: { status: 413, title: "The request body is too large" },
  UnsupportedMediaType: { status: 415, title: "The request body is not JSON" },
  HeadersTooLarge: { status: 431, title: "The request headers are too large" },
  QuotaExceeded: { status: 429, title: "The workspace has used up a quota" },
  RateLimited: { status: 429, title: "Too many calls" },
  InternalError: { status: 500, title: "Something went wrong on our side" },
  ServiceUnavailable: { status: 503, title: "The service is not available just now" }
} as const satisfies Problems

/** The call-specific members of a refusal. */
export class ProblemContext extends Context.Reference<ProblemContext>()(
  "@posthorn/api-contract/ProblemContext",
  { defaultValue: () => ({ baseUrl: "", traceId: "" }) }
) {}

/** A refusal on the wire: the common members, then the error's own facts. */
export const toProblem = (error: Errors.PublicError, context: ProblemContext["Type"]) => {
  const { _tag, ...facts } = error as Errors.PublicError & Record<string, unknown>
  const { status, title } = problems[error._tag]
  return {
    _tag,
    type: `${context.baseUrl}/reference#${_tag}`,
    title,
    status,
    detail: error.message,
    traceId: context.traceId,
    ...factsOf(error, facts)
  }
}

const factsOf = (error: Errors.PublicError, facts: Record<string, unknown>) => {
  const fields = (error.constructor as unknown as { readonly fields: Record<string, unknown> }).fields
  return Object.fromEntries(
    Object.keys(fields)
      .filter((key) => key !== "_tag")
      .map((key) => [key, facts[key]])
  )
}

/** Declares a domain error on an operation: `.addError(failure(WebhookEndpointDisabled))`. */
export const failure = <
  Self extends Errors.PublicError,
  Tag extends Self["_tag"],
  Fields extends Schema.Struct.Fields
>(
  error: Schema.TaggedErrorClass<Self, Tag, Fields>
): Schema.Schema<Self, unknown> => {
  const tag = error._tag as Errors.PublicError["_tag"]
  const { status, title } = problems[tag]
  const { _tag: _, ...facts } = error.fields
  const wire = Schema.Struct({
    _tag: Schema.Literal(tag).annotations({ description: "The kind of problem: switch on it." }),
    type: Schema.String.annotations({
      description: "Where the error is explained.",
      jsonSchema: { format: "uri" }
    }),
    title: Schema.String.annotations({ description: "The same for every problem of this kind." }),
    status: Schema.Literal(status).annotations({
      jsonSchema: { type: "integer", enum: [status], description: "The HTTP status." }
    }),
    detail: Schema.String.annotations({ description: "What happened and what to do." }),
    traceId: Schema.String.annotations({ description: "Quote it when you ask for help." }),
    ...facts
  } as Schema.Struct.Fields).annotations({ identifier: tag, description: title })
  return Schema.transformOrFail(wire, Schema.typeSchema(error) as Schema.Schema<unknown>, {
    strict: false,
    decode: (body: object) => ParseResult.succeed(new (error as unknown as new (body: object) => Self)(body)),
    encode: (self) => Effect.map(ProblemContext, (context) => toProblem(self as Self, context))
  })
    .annotations({
      identifier: tag,
      ...HttpApiSchema.annotations({ status })
    })
    .pipe(
      HttpApiSchema.withEncoding({ kind: "Json", contentType: PROBLEM_JSON })
    ) as unknown as Schema.Schema<Self, unknown>
}
