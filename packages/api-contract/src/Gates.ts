/**
 * The gates in front of operations, and what each provides to its operations.
 *
 * Every operation is behind exactly one gate. A gate provides what its operations may read, so an operation that reads the
 * workspace's principal does not compile behind the operator's gate. `server/gate/Gate` implements them. The operation's rules
 * name the required permission and the rate-limit bucket. Source: spec §5.1.
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

/** Every operation may fail with it: the gate refuses query parameters that the operation does not have. */
export const invalidRequest = failure(InvalidRequest)

const refusals = [failure(Unauthorized), failure(Forbidden), failure(RateLimited), invalidRequest] as const

/** For operations that any valid token may call. */
export class CallerGate extends HttpApiMiddleware.Tag<CallerGate>()("@posthorn/api-contract/CallerGate", {
  provides: CurrentCaller,
  failure: Schema.Union(...refusals),
  security
}) {}

/** For the operator, outside of workspaces. */
export class OperatorGate extends HttpApiMiddleware.Tag<OperatorGate>()(
  "@posthorn/api-contract/OperatorGate",
  { provides: CurrentOperator, failure: Schema.Union(...refusals), security }
) {}

/** For operations in the workspace that `:slug` in the path names. */
export class WorkspaceGate extends HttpApiMiddleware.Tag<WorkspaceGate>()(
  "@posthorn/api-contract/WorkspaceGate",
  { provides: CurrentPrincipal, failure: Schema.Union(...refusals, failure(WorkspaceNotFound)), security }
) {}

export type AnyGate = typeof CallerGate | typeof OperatorGate | typeof WorkspaceGate
