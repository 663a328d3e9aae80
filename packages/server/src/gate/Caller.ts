/** Somebody known, before it is known what they want: an API token, a console session, or the operator's token. */
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

/** What a caller's calls are counted under: a session's for the token that it stands on. */
export const countedAs = (caller: Caller) =>
  caller.kind === "session" ? (caller.session.tokenId ?? caller.session.id) : keyOf(caller)

/** What a caller's idempotency keys are kept under. */
export const keyOf = (caller: Caller) =>
  caller.kind === "operator"
    ? "operator"
    : caller.kind === "session"
      ? caller.session.id
      : caller.identity.tokenId

/** The one workspace that a token or a session opens. */
export const openTo = (caller: Exclude<Caller, { readonly kind: "operator" }>) =>
  caller.kind === "session" ? caller.session : caller.identity

/** Whose ceiling its calls count against; the operator has none. */
export const workspaceIdOf = (caller: Caller): string | null =>
  caller.kind === "operator" ? null : openTo(caller).workspaceId

export const permissionsOf = (caller: Caller) =>
  caller.kind === "operator" ? EVERYTHING : openTo(caller).permissions

const named = (name: string | null) => (name === null ? {} : { name })

export const actorOf = (caller: Caller): Omit<Acting, "via"> =>
  caller.kind === "operator"
    ? { type: "operator", id: "operator", root: null, ...named(caller.operator.name) }
    : caller.kind === "session"
      ? {
          ...caller.session.actor,
          ...(caller.session.actor.type === "operator" && named(caller.session.name))
        }
      : { type: "api_token", id: caller.identity.tokenId, root: caller.identity.root }

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
