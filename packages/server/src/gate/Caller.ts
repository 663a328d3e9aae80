/** Somebody known, before it is known what they want: an API token, a console session, or the operator's token. */
import type { ConsoleSession } from "@posthorn/capabilities/ConsoleSessions"
import type { Identity } from "@posthorn/capabilities/Identities"
import { permissions as allPermissions } from "@posthorn/domain/Permission"
import type { Actor } from "@posthorn/domain/Principal"

export type Caller =
  | { readonly kind: "token"; readonly identity: Identity }
  | { readonly kind: "session"; readonly session: ConsoleSession }
  | { readonly kind: "operator" }

const EVERYTHING: ReadonlySet<(typeof allPermissions)[number]> = new Set(allPermissions)

/** What a caller's calls are counted under. */
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

export const actorOf = (caller: Caller): Omit<Actor, "via"> =>
  caller.kind === "operator"
    ? { type: "operator", id: "operator" }
    : caller.kind === "session"
      ? caller.session.actor
      : { type: "api_token", id: caller.identity.tokenId }
