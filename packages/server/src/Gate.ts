/**
 * The gate every call passes before its operation runs, in a fixed order:
 *
 *   who are you (401) → which workspace (404) → not too often (429) → may you (403)
 *
 * REST passes it per request, MCP per request (authenticate) and per tool call (admit). A token opens one workspace;
 * any other slug looks exactly like one that does not exist. Source: spec §5, decision §3.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import type { ConsoleSession } from "@posthorn/capabilities/ConsoleSessions"
import { Identities, type Identity } from "@posthorn/capabilities/Identities"
import { Workspaces } from "@posthorn/capabilities/Workspaces"
import type { Bucket } from "@posthorn/domain/Bucket"
import { Forbidden, Unauthorized, WorkspaceNotFound } from "@posthorn/domain/Errors"
import { permissions as allPermissions } from "@posthorn/domain/Permission"
import type { Actor, Operator, Principal, Via } from "@posthorn/domain/Principal"
import { Effect, Redacted } from "effect"
import { type BucketState, clientKey, RateLimits, reporting } from "./RateLimits.ts"
import { ServerConfig } from "./ServerConfig.ts"

/** Somebody known, before it is known what they want. */
export type Caller =
  | { readonly kind: "token"; readonly identity: Identity }
  | { readonly kind: "session"; readonly session: ConsoleSession }
  | { readonly kind: "operator" }

export interface Admission {
  readonly bucket: BucketState | null
  readonly principal: Principal | undefined
  readonly operator: Operator | undefined
}

export interface Passage {
  readonly via: Via
  readonly traceId: string
  /** Undefined where an operation has no workspace, or an agent's call leaves it to the token. */
  readonly slug: string | undefined
  /** The bucket to take from; null when the door has taken its own. */
  readonly bucket: Bucket | null
}

const BEARER = /^Bearer +([\x21-\x7e]+)$/i
const EVERYTHING: ReadonlySet<(typeof allPermissions)[number]> = new Set(allPermissions)
const digest = (text: string) => createHash("sha256").update(text).digest()

/** What a caller's calls are counted under. */
export const keyOf = (caller: Caller) =>
  caller.kind === "operator"
    ? "operator"
    : caller.kind === "session"
      ? caller.session.id
      : caller.identity.tokenId

/** The one workspace that a token or a session opens. */
const openTo = (caller: Exclude<Caller, { readonly kind: "operator" }>) =>
  caller.kind === "session" ? caller.session : caller.identity

/** Whose ceiling its calls count against; the operator has none. */
export const workspaceIdOf = (caller: Caller): string | null =>
  caller.kind === "operator" ? null : openTo(caller).workspaceId

export const permissionsOf = (caller: Caller) =>
  caller.kind === "operator" ? EVERYTHING : openTo(caller).permissions

const actorOf = (caller: Caller): Omit<Actor, "via"> =>
  caller.kind === "operator"
    ? { type: "operator", id: "operator" }
    : caller.kind === "session"
      ? caller.session.actor
      : { type: "api_token", id: caller.identity.tokenId }

export class Gate extends Effect.Service<Gate>()("@posthorn/server/Gate", {
  dependencies: [Identities.Default, RateLimits.Default, Workspaces.Default],
  effect: Effect.gen(function* () {
    const config = yield* ServerConfig
    const limits = yield* RateLimits
    const identities = yield* Identities
    const workspaces = yield* Workspaces
    const operatorDigest = digest(Redacted.value(config.operatorToken))
    const operatorLength = Redacted.value(config.operatorToken).length

    const identify = (token: string): Effect.Effect<Caller | undefined> =>
      token.length === operatorLength && timingSafeEqual(digest(token), operatorDigest)
        ? Effect.succeed({ kind: "operator" })
        : Effect.map(
            identities.identify(token),
            (identity) => identity && { kind: "token" as const, identity }
          )

    /** Who sends this `Authorization` header. Failures count against the client's address. */
    const authenticate = (authorization: string | undefined, address: string) => {
      const token = BEARER.exec(authorization ?? "")?.[1]
      return Effect.flatMap(token === undefined ? Effect.succeed(undefined) : identify(token), (caller) =>
        caller !== undefined
          ? Effect.succeed(caller)
          : Effect.flatMap(limits.take("auth_failure", clientKey(address)), (state) =>
              Effect.fail(reporting(new Unauthorized(), state))
            )
      )
    }

    const workspaceOf = (caller: Caller, slug: string | undefined) => {
      if (caller.kind !== "operator") {
        const { workspaceId: id, workspaceSlug } = openTo(caller)
        return slug === undefined || slug === workspaceSlug
          ? Effect.succeed({ id, slug: workspaceSlug })
          : Effect.fail(new WorkspaceNotFound())
      }
      return Effect.flatMap(
        slug === undefined ? Effect.succeed(undefined) : workspaces.findBySlug(slug),
        (found) => (found === undefined ? Effect.fail(new WorkspaceNotFound()) : Effect.succeed(found))
      )
    }

    /** What a caller who was let in is to the operation, or `Forbidden`. */
    const permit = (
      caller: Caller,
      { rules: { permission } }: ContractEntry,
      { traceId, via }: Passage,
      workspace: { readonly id: string; readonly slug: string } | undefined,
      bucket: BucketState | null
    ): Effect.Effect<Admission, Forbidden> => {
      const isOperator = caller.kind === "operator"
      const held = permissionsOf(caller)
      if (permission === "operator" ? !isOperator : permission !== "any" && !held.has(permission)) {
        return Effect.fail(reporting(new Forbidden({ permission }), bucket))
      }
      const actor = { ...actorOf(caller), via }
      const principal = workspace && {
        workspaceId: workspace.id,
        workspaceSlug: workspace.slug,
        actor,
        permissions: held,
        expiresAt: isOperator ? null : openTo(caller).expiresAt,
        traceId
      }
      return Effect.succeed({ bucket, principal, operator: isOperator ? { actor, traceId } : undefined })
    }

    /** Whether this caller may run this operation, and as whom. */
    const admit = (caller: Caller, entry: ContractEntry, passage: Passage) =>
      Effect.flatMap(
        entry.inWorkspace
          ? workspaceOf(caller, passage.slug)
          : caller.kind !== "operator"
            ? workspaceOf(caller, undefined)
            : Effect.succeed(undefined),
        (workspace) =>
          Effect.flatMap(
            passage.bucket === null
              ? Effect.succeed(null)
              : limits.takeFor(passage.bucket, keyOf(caller), workspaceIdOf(caller)),
            (bucket) => permit(caller, entry, passage, workspace, bucket)
          )
      )

    return { authenticate, admit } as const
  })
}) {}
