import type { HttpServerRequest } from "@effect/platform"
import type { Caller } from "../gate/AuthenticatedCaller.ts"
import type { Choice } from "./Tools.ts"

/** The caller of a message, its trace, the tools that it chose, and its HTTP request. */
export interface McpContext {
  readonly caller: Caller
  readonly traceId: string
  readonly choice: Choice
  readonly request: HttpServerRequest.HttpServerRequest
}
