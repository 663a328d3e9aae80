/**
 * Who is calling: one workspace, what is allowed in it, through which transport, under which trace.
 *
 * The gate makes it; capabilities read it. There is no capability without a principal.
 */

import { Context, Schema } from "effect"
import type { WorkspaceId } from "./Ids.ts"
import type { Permission } from "./Permission.ts"

/** What a change can come through: the transports, and the worker. Stored with each audit event. */
export const Via = Schema.Literal("rest", "mcp", "console", "worker", "sql")
export type Via = typeof Via.Type

export const ActorType = Schema.Literal("api_token", "operator", "member", "system")
export type ActorType = typeof ActorType.Type

export const Actor = Schema.Struct({ type: ActorType, id: Schema.String, via: Via })
export type Actor = typeof Actor.Type

/** Who makes tokens. */
export const Maker = Schema.Struct({
  type: ActorType.pipe(Schema.pickLiteral("operator", "api_token", "member")),
  id: Schema.String
})
export type Maker = typeof Maker.Type

export interface Principal {
  readonly workspaceId: WorkspaceId
  readonly workspaceSlug: string
  readonly actor: Actor
  /** What its calls are counted under, and its idempotency keys are kept under. */
  readonly callerKey: string
  readonly permissions: ReadonlySet<Permission>
  /** When what lets the caller in ends; null when it does not. */
  readonly expiresAt: string | null
  readonly traceId: string
}

export class CurrentPrincipal extends Context.Tag("@posthorn/domain/CurrentPrincipal")<
  CurrentPrincipal,
  Principal
>() {}

/** The platform's own key: no workspace of its own, every permission in each. */
export interface Operator {
  readonly actor: Actor
  readonly callerKey: string
  readonly traceId: string
}

export class CurrentOperator extends Context.Tag("@posthorn/domain/CurrentOperator")<
  CurrentOperator,
  Operator
>() {}

/** Whoever it is: what an operation that any valid token may call reads. */
export class CurrentCaller extends Context.Tag("@posthorn/domain/CurrentCaller")<
  CurrentCaller,
  Operator | Principal
>() {}
