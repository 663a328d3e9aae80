/**
 * API tokens: making, listing and revoking them. `Identities.ts` verifies them.
 *
 * A token never grants more, or for longer, than its creator has, and records its creator. Source: spec §5.1 and §5.2 (Tokens).
 */
import * as SqlClient from "@effect/sql/SqlClient"
import {
  ApiTokenNotFound,
  Forbidden,
  invalid,
  LimitReached,
  Unauthorized,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { type ConsoleSessionId, newId, type TokenId } from "@posthorn/domain/Ids"
import { byTime, emptyPage } from "@posthorn/domain/Page"
import { firstMissing, permissionsOf, type Scope } from "@posthorn/domain/Permission"
import { CurrentPrincipal, makerOf, rootOf } from "@posthorn/domain/Principal"
import { type ApiTokenRow, ApiTokensRepo } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import { EventsRepo } from "@posthorn/persistence/repositories/EventsRepo"
import { WorkspacesRepo } from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect, Redacted } from "effect"
import { Identities } from "./Identities.ts"
import { InstallationPolicy } from "./InstallationPolicy.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import * as TokenText from "./TokenText.ts"
import { transactional } from "./Transaction.ts"

interface NewToken {
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  readonly expiresAt?: string | null | undefined
}

/** A token expires with its maker at the latest. Null means never. */
const earlier = (wished: string | null, makers: string | null) =>
  wished === null || (makers !== null && Date.parse(makers) < Date.parse(wished)) ? makers : wished

export class ApiTokens extends Effect.Service<ApiTokens>()("@posthorn/capabilities/ApiTokens", {
  dependencies: [
    Identities.Default,
    ApiTokensRepo.Default,
    AuditEventsRepo.Default,
    EventsRepo.Default,
    WorkspacesRepo.Default
  ],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tokens = yield* ApiTokensRepo
    const identities = yield* Identities
    const audit = yield* AuditEventsRepo
    const events = yield* EventsRepo
    const workspaces = yield* WorkspacesRepo
    const { limits } = yield* InstallationPolicy

    const create = (request: NewToken) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { actor, expiresAt: makersEnd, lineage, permissions, workspaceId } = principal
        const permission = firstMissing(permissionsOf(request.scopes), permissions)
        if (permission !== undefined) return yield* new Forbidden({ permission })
        if (typeof request.expiresAt === "string" && (yield* tokens.isPast(request.expiresAt)))
          return yield* invalid("/expiresAt", "Expected a time in the future")
        const workspace = yield* workspaces.hold(workspaceId)
        if (workspace === undefined) return yield* new WorkspaceNotFound()
        const limit = workspace.limits.tokens ?? limits.tokens
        // The caller has ended since the gate: a token made now would escape the revocation of its descendants.
        if (!(yield* tokens.isOpen(workspaceId, lineage))) return yield* new Unauthorized()
        if ((yield* tokens.countOpen(workspaceId)) >= limit)
          return yield* new LimitReached({ limit, of: "tokens" })
        const id = newId("token")
        const { secretHash, text } = TokenText.issue(id)
        const row: ApiTokenRow = yield* tokens.insert(workspaceId, {
          id,
          name: request.name,
          scopes: request.scopes,
          secretHash,
          expiresAt: earlier(request.expiresAt ?? null, makersEnd),
          createdBy: makerOf(actor),
          lineage,
          root: actor.type === "operator" ? actor.root : rootOf(actor)
        })
        yield* audit.append(principal, "api_token.created", ["api_token", id], {
          fields: ["name", "scopes", "expiresAt"],
          name: request.name,
          scopes: request.scopes,
          expiresAt: row.expiresAt
        })
        const payload = { tokenId: id, name: request.name, scopes: request.scopes }
        yield* events.announce(principal, { type: "api_token.created", payload })
        return { ...row, scopes: request.scopes, token: Redacted.value(text) }
      }).pipe(transactional(sql), Effect.withSpan("ApiTokens.create"))

    const list = Effect.fn("ApiTokens.list")(function* (query: ListQuery) {
      const { endpointIds, workspaceId } = yield* CurrentPrincipal
      // A token is of no endpoint.
      if (endpointIds !== null) return emptyPage
      return yield* listPast(byTime, query, (from, limit) => tokens.list(workspaceId, limit, from))
    })

    const recordRevoked = (tokenId: TokenId, name: string) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        yield* audit.append(principal, "api_token.revoked", ["api_token", tokenId], {
          fields: ["revokedAt"],
          name
        })
        yield* events.announce(principal, { type: "api_token.revoked", payload: { tokenId, name } })
      })

    /** Revokes the tokens that were made in these sessions, with their descendants. The workspace must be locked. */
    const revokeMadeIn = (sessionIds: ReadonlyArray<ConsoleSessionId>) =>
      Effect.flatMap(CurrentPrincipal, ({ workspaceId }) =>
        Effect.flatMap(
          tokens.revokeMadeIn(workspaceId, sessionIds),
          Effect.forEach(({ id, name }) => recordRevoked(id, name), { discard: true })
        )
      )

    /**
     * Revokes it permanently; idempotent. With `descendants`, also every token made by it, directly or not. Takes effect in
     * this process before this returns.
     */
    const revoke = (tokenId: TokenId, descendants: boolean) =>
      Effect.gen(function* () {
        const { workspaceId } = yield* CurrentPrincipal
        yield* workspaces.hold(workspaceId)
        const revoked = yield* tokens.revoke(workspaceId, tokenId, descendants)
        if (revoked.length === 0 && !(yield* tokens.exists(workspaceId, tokenId)))
          return yield* new ApiTokenNotFound()
        yield* Effect.forEach(revoked, ({ id, name }) => recordRevoked(id, name), { discard: true })
      }).pipe(transactional(sql), Effect.zipLeft(identities.forgetAll), Effect.withSpan("ApiTokens.revoke"))

    return { create, list, revoke, revokeMadeIn } as const
  })
}) {}
