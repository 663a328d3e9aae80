/**
 * The gate every call passes before its operation runs, in a fixed order:
 *
 *   who are you (401) → which workspace (404) → not too often (429) → may you (403)
 *
 * REST passes it per request, MCP per request (authenticate) and per tool call (admit). A token opens one workspace;
 * any other slug looks exactly like one that does not exist. What is known already is told at once (`domain/AtOnce`).
 * Source: spec §5, decision §3.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { OperatorGate } from "@posthorn/api-contract/Gates"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import type { ConsoleSession } from "@posthorn/capabilities/ConsoleSessions"
import { Identities, type Identity } from "@posthorn/capabilities/Identities"
import { Workspaces } from "@posthorn/capabilities/Workspaces"
import { andThen } from "@posthorn/domain/AtOnce"
import type { Bucket } from "@posthorn/domain/Bucket"
import { Forbidden, type RateLimited, Unauthorized, WorkspaceNotFound } from "@posthorn/domain/Errors"
import { permissions as allPermissions } from "@posthorn/domain/Permission"
import type { Actor, Operator, Principal } from "@posthorn/domain/Principal"
import { Effect, Redacted } from "effect"
import { clientKey, RateLimits, type Visit } from "./RateLimits.ts"
import { ServerConfig } from "./ServerConfig.ts"

/** Somebody known, before it is known what they want. */
export type Caller =
  | { readonly kind: "token"; readonly identity: Identity }
  | { readonly kind: "session"; readonly session: ConsoleSession }
  | { readonly kind: "operator" }

/** Who was let in, as its operation is told. */
export type Admitted = Operator | Principal

const BEARER = /^Bearer +([\x21-\x7e]+)$/i
const EVERYTHING: ReadonlySet<(typeof allPermissions)[number]> = new Set(allPermissions)
const digest = (text: string) => hash("sha256", text, "buffer")

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
        : andThen(identities.identify(token), (identity) =>
            Effect.succeed(identity && { kind: "token" as const, identity })
          )

    /** Nobody known: counts against the client's address. */
    const unauthorized = (visit: Visit, address: string): Effect.Effect<never, RateLimited | Unauthorized> =>
      andThen(limits.take(visit, "auth_failure", clientKey(address)), () => Effect.fail(new Unauthorized()))

    /** Who sends this `Authorization` header. */
    const authenticate = (visit: Visit, authorization: string | undefined, address: string) => {
      const token = BEARER.exec(authorization ?? "")?.[1]
      return andThen(token === undefined ? Effect.succeed(undefined) : identify(token), (caller) =>
        caller === undefined ? unauthorized(visit, address) : Effect.succeed(caller)
      )
    }

    /** The workspace that is meant: a token has one of its own, which a slug can only repeat. */
    const workspaceOf = (caller: Caller, slug: string | undefined) => {
      if (caller.kind !== "operator") {
        const { workspaceId: id, workspaceSlug } = openTo(caller)
        return slug === undefined || slug === workspaceSlug
          ? Effect.succeed({ id, slug: workspaceSlug })
          : Effect.fail(new WorkspaceNotFound())
      }
      return andThen(slug === undefined ? Effect.succeed(undefined) : workspaces.findBySlug(slug), (found) =>
        found === undefined ? Effect.fail(new WorkspaceNotFound()) : Effect.succeed(found)
      )
    }

    /**
     * What a caller may be to an operation, which is what its gate provides: the workspace's principal; outside of every
     * workspace, the operator. `bucket` is the one to take from; null when the door has taken its own.
     */
    const admit = (
      caller: Caller,
      { gate, inWorkspace, rules: { permission } }: ContractEntry,
      slug: string | undefined,
      bucket: Bucket | null,
      visit: Visit
    ): Effect.Effect<Admitted, Forbidden | RateLimited | WorkspaceNotFound> => {
      const isOperator = caller.kind === "operator"
      const held = permissionsOf(caller)
      const isForbidden =
        gate === OperatorGate || permission === "operator"
          ? !isOperator
          : permission !== "any" && !held.has(permission)
      const count = () =>
        bucket === null ? Effect.void : limits.take(visit, bucket, keyOf(caller), workspaceIdOf(caller))
      return andThen(
        isOperator && !inWorkspace
          ? Effect.succeed(undefined)
          : workspaceOf(caller, inWorkspace ? slug : undefined),
        (workspace) =>
          andThen(count(), (): Effect.Effect<Admitted, Forbidden> => {
            if (isForbidden) return Effect.fail(new Forbidden({ permission }))
            const { traceId, via } = visit
            const { id, type } = actorOf(caller)
            const actor = { type, id, via }
            if (workspace === undefined) return Effect.succeed({ actor, traceId })
            return Effect.succeed({
              workspaceId: workspace.id,
              workspaceSlug: workspace.slug,
              actor,
              permissions: held,
              expiresAt: isOperator ? null : openTo(caller).expiresAt,
              traceId
            })
          })
      )
    }

    return { admit, authenticate, unauthorized } as const
  })
}) {}
