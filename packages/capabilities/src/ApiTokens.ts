/**
 * API tokens: making them, and knowing one again.
 *
 * A token never grants more than its creator may do, nor for longer, and knows who that was. What a token opens is remembered for `REMEMBERED_MS`, so that
 * revoking is effective everywhere within a second and a busy token costs two look-ups a second. Source: decision §3, §10
 * (Tokens).
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
import { newId } from "@posthorn/domain/Ids"
import { decodeCursor, emptyPage, pageOf, TimePosition } from "@posthorn/domain/Page"
import { firstMissing, permissionsOf, type Scope } from "@posthorn/domain/Permission"
import { type Actor, CurrentPrincipal } from "@posthorn/domain/Principal"
import {
  type ApiTokenRow,
  ApiTokensRepo,
  type Maker,
  type TokenIdentity
} from "@posthorn/persistence/ApiTokensRepo"
import { AuditRepo } from "@posthorn/persistence/AuditRepo"
import { EventsRepo } from "@posthorn/persistence/EventsRepo"
import { WorkspacesRepo } from "@posthorn/persistence/WorkspacesRepo"
import { Effect, Either, Redacted } from "effect"
import type { ListQuery } from "./Lists.ts"
import * as TokenText from "./TokenText.ts"
import { transactional } from "./Transaction.ts"
import { WorkspaceLimits } from "./WorkspaceLimits.ts"

const REMEMBERED_MS = 500
/** While one call asks again, the others go on with what is known, so that a busy token is not asked for by all at once. */
const KNOWN_AT_MOST_MS = 900
const REMEMBERED_TOKENS = 10_000
const MINUTE_MS = 60_000

export interface NewToken {
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  readonly expiresAt?: string | null | undefined
}

/** A token as it is shown; the database holds only scopes this program knows. */
type TokenView = Omit<ApiTokenRow, "scopes"> & { readonly scopes: ReadonlyArray<Scope> }

export interface Identity extends TokenIdentity {
  readonly permissions: ReturnType<typeof permissionsOf>
}

interface Remembered {
  readonly identity: Identity | undefined
  readonly readAt: number
  readonly until: number
}

/** A token ends when its maker does at the latest. Null is no end. */
const earlier = (wished: string | null, makers: string | null) =>
  wished === null || (makers !== null && Date.parse(makers) < Date.parse(wished)) ? makers : wished

/** Nobody makes tokens in the system's name. */
const makerOf = ({ id, type }: Actor): Maker => ({ type: type as Maker["type"], id })

const isPast = (time: string | null | undefined) => typeof time === "string" && Date.parse(time) <= Date.now()

export class ApiTokens extends Effect.Service<ApiTokens>()("@posthorn/capabilities/ApiTokens", {
  dependencies: [ApiTokensRepo.Default, AuditRepo.Default, EventsRepo.Default, WorkspacesRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tokens = yield* ApiTokensRepo
    const audit = yield* AuditRepo
    const events = yield* EventsRepo
    const workspaces = yield* WorkspacesRepo
    const { tokens: limit } = yield* WorkspaceLimits
    const remembered = new Map<string, Remembered>()
    const touched = new Map<string, number>()
    let forgotten = 0

    const create = (request: NewToken) =>
      Effect.gen(function* () {
        const { actor, expiresAt: makersEnd, permissions, traceId, workspaceId } = yield* CurrentPrincipal
        const permission = firstMissing(permissionsOf(request.scopes), permissions)
        if (permission !== undefined) return yield* new Forbidden({ permission })
        if (isPast(request.expiresAt)) return yield* invalid("/expiresAt", "Expected a time in the future")
        if (!(yield* workspaces.hold(workspaceId))) return yield* new WorkspaceNotFound()
        // Revoked since the gate let it in: what it made now would escape the revocation of its descendants.
        if (actor.type === "api_token" && !(yield* tokens.isOpen(workspaceId, actor.id)))
          return yield* new Unauthorized()
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
          createdBy: makerOf(actor)
        })
        yield* audit.append({
          workspaceId,
          actor,
          traceId,
          action: "api_token.created",
          target: { type: "api_token", id },
          changes: { fields: ["name", "scopes", "expiresAt"], scopes: request.scopes }
        })
        const payload = { tokenId: id, name: request.name, scopes: request.scopes }
        yield* events.announce(workspaceId, { type: "api_token.created", payload }, traceId)
        return { ...row, scopes: request.scopes, token: Redacted.value(text) }
      }).pipe(transactional(sql), Effect.withSpan("ApiTokens.create"))

    const list = Effect.fn("ApiTokens.list")(function* (query: ListQuery) {
      const { workspaceId } = yield* CurrentPrincipal
      const from = decodeCursor(TimePosition, query.cursor)
      if (Either.isLeft(from)) return emptyPage
      const rows = yield* tokens.list(workspaceId, query.limit, from.right)
      return pageOf(rows as ReadonlyArray<TokenView>, query.limit, (last) => ({
        at: last.createdAt,
        id: last.id
      }))
    })

    /** What was looked up before is not trusted again, nor is what is being looked up now. */
    const forgetAll = Effect.sync(() => {
      forgotten++
      remembered.clear()
    })

    const recordRevoked = (tokenId: string, name: string) =>
      Effect.gen(function* () {
        const { actor, traceId, workspaceId } = yield* CurrentPrincipal
        yield* audit.append({
          workspaceId,
          actor,
          traceId,
          action: "api_token.revoked",
          target: { type: "api_token", id: tokenId },
          changes: { fields: ["revokedAt"] }
        })
        yield* events.announce(
          workspaceId,
          { type: "api_token.revoked", payload: { tokenId, name } },
          traceId
        )
      })

    /**
     * For good; again changes nothing. With `descendants` also every token made by it, through those that are revoked
     * already, as itself may be. In this process it is effective when this returns.
     */
    const revoke = (tokenId: string, descendants: boolean) =>
      Effect.gen(function* () {
        const { workspaceId } = yield* CurrentPrincipal
        yield* workspaces.hold(workspaceId)
        const revoked = yield* tokens.revoke(workspaceId, tokenId, descendants)
        if (revoked.length === 0 && !(yield* tokens.exists(workspaceId, tokenId)))
          return yield* new ApiTokenNotFound()
        yield* Effect.forEach(revoked, ({ id, name }) => recordRevoked(id, name), { discard: true })
      }).pipe(transactional(sql), Effect.zipLeft(forgetAll), Effect.withSpan("ApiTokens.revoke"))

    const remember = (tokenId: string, identity: Identity | undefined) => {
      if (remembered.size >= REMEMBERED_TOKENS) remembered.clear()
      remembered.set(tokenId, { identity, readAt: Date.now(), until: Date.now() + REMEMBERED_MS })
    }

    /** `lastUsedAt` is to the minute: more than one write a minute would change nothing. */
    const isFirstThisMinute = (tokenId: string) => {
      const minute = Math.floor(Date.now() / MINUTE_MS)
      if (touched.get(tokenId) === minute) return false
      if (touched.size >= REMEMBERED_TOKENS) touched.clear()
      touched.set(tokenId, minute)
      return true
    }

    const lookUp = (tokenId: string) =>
      Effect.suspend(() => {
        const before = forgotten
        return Effect.map(tokens.findIdentity(tokenId), (found): Identity | undefined => {
          const identity = found && { ...found, permissions: permissionsOf(found.scopes) }
          if (forgotten === before) remember(tokenId, identity)
          return identity
        })
      }).pipe(
        Effect.tap((identity) =>
          identity === undefined || !isFirstThisMinute(tokenId)
            ? Effect.void
            : Effect.forkDaemon(Effect.ignore(tokens.touch(identity.workspaceId, tokenId)))
        )
      )

    /** Whose token this is; undefined when it is malformed, unknown, revoked or expired. */
    const identify = (token: string): Effect.Effect<Identity | undefined> => {
      const parts = TokenText.read(token)
      if (parts === undefined) return Effect.succeed(undefined)
      const known = remembered.get(parts.tokenId)
      const isKnown = known !== undefined && known.until > Date.now()
      if (known !== undefined && !isKnown) {
        remembered.set(parts.tokenId, { ...known, until: known.readAt + KNOWN_AT_MOST_MS })
      }
      const identity = isKnown ? Effect.succeed(known.identity) : lookUp(parts.tokenId)
      return Effect.map(identity, (found) =>
        found !== undefined && isOpen(found) && TokenText.matches(parts.secret, found.secretHash)
          ? found
          : undefined
      )
    }

    return { create, forgetAll, identify, list, revoke } as const
  })
}) {}

const isOpen = (identity: Identity) =>
  identity.revokedAt === null && (identity.expiresAt === null || Date.parse(identity.expiresAt) > Date.now())
