import type { HttpServerRequest } from "@effect/platform"
import type { Caller } from "../gate/AuthenticatedCaller.ts"

/** The caller of a message, its trace, and its HTTP request. */
export interface McpContext {
  readonly caller: Caller
  readonly traceId: string
  readonly request: HttpServerRequest.HttpServerRequest
}
