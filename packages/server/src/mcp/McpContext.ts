import type { HttpServerRequest } from "@effect/platform"
import type { Caller } from "../gate/Caller.ts"

/** Who calls, under which trace, and by which HTTP request. */
export interface McpContext {
  readonly caller: Caller
  readonly traceId: string
  readonly request: HttpServerRequest.HttpServerRequest
}
