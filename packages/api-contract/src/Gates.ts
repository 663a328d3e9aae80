/**
 * The gates in front of operations: what each tells the operation it lets a caller into.
 *
 * Every operation stands behind exactly one. Because a gate provides what its operations may read, one that reads the
 * workspace's principal does not compile behind the operator's gate. `server/Gate` implements them; what a caller must
 * hold, and which bucket the call counts in, is in the operation's rules. Source: spec §5.1.
 */
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import {
  Forbidden,
  InvalidRequest,
  RateLimited,
  Unauthorized,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { CurrentCaller, CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { Schema } from "effect"
import { failure } from "./Problem.ts"

const security = {
  bearer: HttpApiSecurity.bearer.pipe(
    HttpApiSecurity.annotate(
      OpenApi.Description,
      "An API token (`phk_…`) of the workspace in the path, or the operator's token."
    )
  )
}

/** Declared for all operations; the gate gives it for a query that its operation does not take. */
export const invalidRequest = failure(InvalidRequest)

const refusals = [failure(Unauthorized), failure(Forbidden), failure(RateLimited), invalidRequest] as const

/** For what any valid token may ask. */
export class CallerGate extends HttpApiMiddleware.Tag<CallerGate>()("@posthorn/api-contract/CallerGate", {
  provides: CurrentCaller,
  failure: Schema.Union(...refusals),
  security
}) {}

/** For the operator, outside every workspace. */
export class OperatorGate extends HttpApiMiddleware.Tag<OperatorGate>()(
  "@posthorn/api-contract/OperatorGate",
  { provides: CurrentOperator, failure: Schema.Union(...refusals), security }
) {}

/** Into the workspace that the path names with `:slug`. */
export class WorkspaceGate extends HttpApiMiddleware.Tag<WorkspaceGate>()(
  "@posthorn/api-contract/WorkspaceGate",
  { provides: CurrentPrincipal, failure: Schema.Union(...refusals, failure(WorkspaceNotFound)), security }
) {}

export type AnyGate = typeof CallerGate | typeof OperatorGate | typeof WorkspaceGate
