/**
 * API tokens: making them, and knowing one again.
 *
 * A token never grants more than its creator may do. What a token opens is remembered for `REMEMBERED_MS`, so that
 * revoking is effective everywhere within a second and a busy token costs two look-ups a second. Source: decision §3.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Forbidden, invalid } from "@posthorn/domain/Errors"
import { newId } from "@posthorn/domain/Ids"
import { permissionsOf, type Scope } from "@posthorn/domain/Permission"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { type ApiTokenRow, ApiTokensRepo, type TokenIdentity } from "@posthorn/persistence/ApiTokensRepo"
import { AuditRepo } from "@posthorn/persistence/AuditRepo"
import { Effect, Redacted } from "effect"
import * as TokenText from "./TokenText.ts"
import { transactional } from "./Transaction.ts"

const REMEMBERED_MS = 500
const REMEMBERED_TOKENS = 10_000

export interface NewToken {
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  readonly expiresAt?: string | null | undefined
}

export interface Identity extends TokenIdentity {
  readonly permissions: ReturnType<typeof permissionsOf>
}

interface Remembered {
  readonly identity: Identity | undefined
  readonly until: number
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/** A time in the future, in the form it is stored. */
const expiry = (text: string | null | undefined) => {
  if (text === null || text === undefined) return Effect.succeed(null)
  const time = RFC3339.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) return Effect.fail(invalid("/expiresAt", "Expected a time such as 2027-01-31T00:00:00Z"))
  if (time <= Date.now()) return Effect.fail(invalid("/expiresAt", "Expected a time in the future"))
  return Effect.succeed(new Date(time).toISOString())
}

export class ApiTokens extends Effect.Service<ApiTokens>()("@posthorn/capabilities/ApiTokens", {
  dependencies: [ApiTokensRepo.Default, AuditRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tokens = yield* ApiTokensRepo
    const audit = yield* AuditRepo
    const remembered = new Map<string, Remembered>()

    const create = (request: NewToken) =>
      Effect.gen(function* () {
        const { actor, permissions, traceId, workspaceId } = yield* CurrentPrincipal
        for (const permission of permissionsOf(request.scopes)) {
          if (!permissions.has(permission)) return yield* new Forbidden({ permission })
        }
        const expiresAt = yield* expiry(request.expiresAt)
        const id = newId("token")
        const { secretHash, text } = TokenText.issue(id)
        const row: ApiTokenRow = yield* tokens.insert(workspaceId, {
          id,
          name: request.name,
          scopes: request.scopes,
          secretHash,
          expiresAt
        })
        yield* audit.append({
          workspaceId,
          actor,
          traceId,
          action: "api_token.created",
          target: { type: "api_token", id },
          changes: { fields: ["name", "scopes", "expiresAt"], scopes: request.scopes }
        })
        return { ...row, scopes: request.scopes, token: Redacted.value(text) }
      }).pipe(transactional(sql), Effect.withSpan("ApiTokens.create"))

    const lookUp = (tokenId: string) =>
      Effect.map(tokens.findIdentity(tokenId), (found): Identity | undefined => {
        const identity = found === undefined ? undefined : { ...found, permissions: permissionsOf(found.scopes) }
        if (remembered.size >= REMEMBERED_TOKENS) remembered.clear()
        remembered.set(tokenId, { identity, until: Date.now() + REMEMBERED_MS })
        return identity
      }).pipe(
        Effect.tap((identity) =>
          identity === undefined ? Effect.void : Effect.forkDaemon(Effect.ignore(tokens.touch(identity.workspaceId, tokenId)))
        )
      )

    /** Whose token this is; undefined when it is malformed, unknown, revoked or expired. */
    const identify = (token: string): Effect.Effect<Identity | undefined> => {
      const parts = TokenText.read(token)
      if (parts === undefined) return Effect.succeed(undefined)
      const known = remembered.get(parts.tokenId)
      const identity =
        known !== undefined && known.until > Date.now() ? Effect.succeed(known.identity) : lookUp(parts.tokenId)
      return Effect.map(identity, (found) =>
        found !== undefined && isOpen(found) && TokenText.matches(parts.secret, found.secretHash) ? found : undefined
      )
    }

    return { create, identify } as const
  })
}) {}

const isOpen = (identity: Identity) =>
  identity.revokedAt === null && (identity.expiresAt === null || Date.parse(identity.expiresAt) > Date.now())
