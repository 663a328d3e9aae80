/** An authenticated caller, before it is known what it wants: an API token, a console session, or the operator's token. */
import type { ConsoleSession } from "@posthorn/capabilities/ConsoleSessions"
import type { Identity } from "@posthorn/capabilities/Identities"
import type { Operator } from "@posthorn/capabilities/Operators"
import { permissions as allPermissions } from "@posthorn/domain/Permission"
import type { Acting, Lineage } from "@posthorn/domain/Principal"

export type Caller =
  | { readonly kind: "token"; readonly identity: Identity }
  | { readonly kind: "session"; readonly session: ConsoleSession }
  | { readonly kind: "operator"; readonly operator: Pick<Operator, "epoch" | "name"> }

const EVERYTHING: ReadonlySet<(typeof allPermissions)[number]> = new Set(allPermissions)

/** The key under which a caller's calls are counted. A session counts under the token it is based on. */
export const countedAs = (caller: Caller) =>
  caller.kind === "session" ? (caller.session.tokenId ?? caller.session.id) : keyOf(caller)

/** The owner of a caller's idempotency keys. Operators have their own, by the names of their tokens. */
export const keyOf = (caller: Caller) =>
  caller.kind === "operator"
    ? caller.operator.name === null
      ? "operator"
      : `operator:${caller.operator.name}`
    : caller.kind === "session"
      ? caller.session.id
      : caller.identity.tokenId

/** The workspace of a token or a session. */
export const openTo = (caller: Exclude<Caller, { readonly kind: "operator" }>) =>
  caller.kind === "session" ? caller.session : caller.identity

/** The workspace against whose limit its calls count; none for the operator. */
export const workspaceIdOf = (caller: Caller): string | null =>
  caller.kind === "operator" ? null : openTo(caller).workspaceId

export const permissionsOf = (caller: Caller) =>
  caller.kind === "operator" ? EVERYTHING : openTo(caller).permissions

/** The endpoints that exist for it; null: all. */
export const endpointIdsOf = (caller: Caller) =>
  caller.kind === "session" ? caller.session.view.endpointIds : null

export const actorOf = (caller: Caller): Omit<Acting, "via"> =>
  caller.kind === "operator"
    ? { type: "operator", id: "operator", root: null, name: caller.operator.name }
    : caller.kind === "session"
      ? caller.session.actor
      : {
          type: "api_token",
          id: caller.identity.tokenId,
          root: caller.identity.root,
          name: caller.identity.name
        }

export const lineageOf = (caller: Caller): Lineage =>
  caller.kind === "operator"
    ? { tokenId: null, sessionId: null, operatorEpoch: caller.operator.epoch }
    : caller.kind === "session"
      ? {
          tokenId: caller.session.tokenId,
          sessionId: caller.session.id,
          operatorEpoch: caller.session.operatorEpoch
        }
      : { tokenId: caller.identity.tokenId, sessionId: null, operatorEpoch: null }
