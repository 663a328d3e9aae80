/**
 * Who is calling: one workspace, what is allowed in it, through which transport, under which trace.
 *
 * The gate makes it; capabilities read it. There is no capability without a principal.
 */

import { Context, Schema } from "effect"
import type { ConsoleSessionId, TokenId, WorkspaceId } from "./Ids.ts"
import type { Permission } from "./Permission.ts"

/** What a change can come through: the transports, and the worker. Stored with each audit event. */
export const Via = Schema.Literal("rest", "mcp", "console", "worker", "sql")
export type Via = typeof Via.Type

export const ActorType = Schema.Literal("api_token", "operator", "member", "system")
export type ActorType = typeof ActorType.Type

export const Actor = Schema.Struct({ type: ActorType, id: Schema.String, via: Via })
export type Actor = typeof Actor.Type

/** Who makes tokens, links and sessions. */
export const Maker = Schema.Struct({
  type: ActorType.pipe(Schema.pickLiteral("operator", "api_token", "member")),
  id: Schema.String
})
export type Maker = typeof Maker.Type

/** Who acts, and what the chain of tokens, links and sessions behind it began with; null where there is none. */
export interface Acting extends Actor {
  readonly root: Maker | null
  /** Of one operator among several. */
  readonly name?: string
}

/** What stands behind a caller and goes on to whatever it makes: its end is the end of that as well. */
export interface Lineage {
  /** The nearest token: the caller's own, or the one that its session stands on. */
  readonly tokenId: TokenId | null
  readonly sessionId: ConsoleSessionId | null
  /** Of the operator's token that a session began with, or that calls. */
  readonly operatorEpoch: string | null
}

/** The maker of what this caller makes. Nothing is made in the system's name. */
export const makerOf = ({ id, type }: Actor): Maker => ({ type: type as Maker["type"], id })

/** What the chain of whatever this caller makes began with. */
export const rootOf = (actor: Acting): Maker => actor.root ?? makerOf(actor)

export interface Principal {
  readonly workspaceId: WorkspaceId
  readonly workspaceSlug: string
  readonly actor: Acting
  readonly lineage: Lineage
  /** What its idempotency keys are kept under. */
  readonly callerKey: string
  readonly permissions: ReadonlySet<Permission>
  /** When what lets the caller in ends; null when it does not. */
  readonly expiresAt: string | null
  readonly traceId: string
  /** Whose publishes keep their order; null where the transport promises none. */
  readonly connection: string | null
}

export class CurrentPrincipal extends Context.Tag("@posthorn/domain/CurrentPrincipal")<
  CurrentPrincipal,
  Principal
>() {}

/** The platform's own key: no workspace of its own, every permission in each. */
export interface Operator {
  readonly actor: Acting
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
