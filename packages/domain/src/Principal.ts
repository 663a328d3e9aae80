/**
 * The caller: one workspace, the permissions in it, the transport and the trace. The gate makes it, and capabilities read it.
 * Capabilities of the operator, of a worker and of pages without a token have none.
 */

import { Context, Schema } from "effect"
import type { ConsoleSessionId, EndpointId, TokenId, WorkspaceId } from "./Ids.ts"
import type { Permission } from "./Permission.ts"

/** The ways in which a change can come: the transports, and the worker. Stored with each audit event. */
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

/** Who acts, and the root of the chain of tokens, links and sessions behind it; null if there is none. */
export interface Acting extends Actor {
  readonly root: Maker | null
  /** Of the token, the member, or one operator among several; null if it has none. */
  readonly name: string | null
}

/** The chain behind a caller, which its tokens, links and sessions inherit: they end when a part of the chain ends. */
export interface Lineage {
  /** The nearest token: the caller's own, or the one that its session is based on. */
  readonly tokenId: TokenId | null
  readonly sessionId: ConsoleSessionId | null
  /** Of the operator's token that a session began with, or that calls. */
  readonly operatorEpoch: string | null
}

/** The maker of whatever this caller makes. The system itself makes none of these. */
export const makerOf = ({ id, type }: Actor): Maker => ({ type: type as Maker["type"], id })

/** The root of the chain of whatever this caller makes. */
export const rootOf = (actor: Acting): Maker => actor.root ?? makerOf(actor)

/** What exists for the caller: a workspace, or some of its endpoints. Repositories read and change nothing else. */
export type Within = Pick<Principal, "endpointIds" | "workspaceId">

/** Who makes a change, in which workspace and trace. */
export type ChangedBy = Pick<Principal, "actor" | "traceId" | "workspaceId">

export interface Principal {
  readonly workspaceId: WorkspaceId
  readonly workspaceSlug: string
  /** The endpoints that exist for this caller; null: all of the workspace. */
  readonly endpointIds: ReadonlyArray<EndpointId> | null
  readonly actor: Acting
  readonly lineage: Lineage
  /** The owner of its idempotency keys. */
  readonly callerKey: string
  readonly permissions: ReadonlySet<Permission>
  /** When its credential expires; null if never. */
  readonly expiresAt: string | null
  readonly traceId: string
  /** The connection whose publishes keep their order; null if the transport promises no order. */
  readonly connection: string | null
}

export class CurrentPrincipal extends Context.Tag("@posthorn/domain/CurrentPrincipal")<
  CurrentPrincipal,
  Principal
>() {}

/** The holder of the platform's own key: it has no workspace of its own, and every permission in each. */
export interface Operator {
  readonly actor: Acting
  readonly callerKey: string
  readonly traceId: string
}

export class CurrentOperator extends Context.Tag("@posthorn/domain/CurrentOperator")<
  CurrentOperator,
  Operator
>() {}

/** Any caller: what operations read that any valid token may call. */
export class CurrentCaller extends Context.Tag("@posthorn/domain/CurrentCaller")<
  CurrentCaller,
  Operator | Principal
>() {}
