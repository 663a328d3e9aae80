/**
 * Sessions of the console. A link's code or an API token opens one; a secret that only the browser has identifies it; it ends
 * by signing out, by a caller with the permission, by age, or with its chain.
 *
 * Each sign-in makes a new secret and never accepts one from the browser, so that nobody can plant one. Rights are read anew
 * for each request. A session opened by a link from another session ends with that one at the latest. Source: spec §11.
 */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { type ConsoleView, WHOLE_CONSOLE } from "@posthorn/domain/ConsoleView"
import { ConsoleSessionNotFound, Forbidden } from "@posthorn/domain/Errors"
import { type ConsoleSessionId, newId, type TokenId, type WorkspaceId } from "@posthorn/domain/Ids"
import { byTime } from "@posthorn/domain/Page"
import {
  type Permission,
  permissions,
  permissionsOf,
  permissionsOfRole,
  Role,
  withinEndpoints
} from "@posthorn/domain/Permission"
import {
  type Acting,
  type ChangedBy,
  CurrentPrincipal,
  type Maker,
  type Principal
} from "@posthorn/domain/Principal"
import { ApiTokensRepo } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import {
  type Asked,
  ConsoleRepo,
  type Grant,
  type ListedSession,
  type OpenLink,
  type SessionRow,
  type SessionVia
} from "@posthorn/persistence/repositories/ConsoleRepo"
import { WorkspacesRepo } from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"
import { ApiTokens } from "./ApiTokens.ts"
import { hashOf } from "./ConsoleLinks.ts"
import { Identities } from "./Identities.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import { Operators } from "./Operators.ts"
import { transactional } from "./Transaction.ts"

const SECRET_BYTES = 32
/** Most sessions of one maker; with one more, the one that was used longest ago ends. A platform's token makes one for each page that it embeds. */
export const SESSIONS_OF_A_MAKER = 20
export const EMBEDDED_OF_A_MAKER = 200

export interface ConsoleSession {
  readonly id: ConsoleSessionId
  readonly workspaceId: WorkspaceId
  readonly workspaceSlug: string
  readonly publishPerMinute: number | null
  readonly workspaceName: string
  readonly actor: Omit<Acting, "via">
  readonly tokenId: TokenId | null
  readonly operatorEpoch: string | null
  readonly permissions: ReadonlySet<Permission>
  readonly endsAt: string
  readonly expiresAt: string | null
  readonly view: ConsoleView
}

interface Opened {
  readonly workspaceSlug: string
  /** For the cookie or the embedded page; stored nowhere else. */
  readonly secret: string
}

const maximum = ({ memberRole, tokenScopes }: SessionRow): ReadonlySet<Permission> =>
  memberRole !== null
    ? permissionsOfRole(memberRole)
    : tokenScopes !== null
      ? permissionsOf(tokenScopes)
      : new Set(permissions)

const isSame = (one: Maker, other: Omit<Acting, "name" | "root" | "via">) =>
  one.type === other.type && one.id === other.id

const actorOf = (
  operators: Operators["Type"],
  { memberId, operatorEpoch, root, tokenId }: Grant,
  name: string | null
): ConsoleSession["actor"] => {
  const actor =
    memberId !== null
      ? ({ type: "member", id: memberId } as const)
      : tokenId !== null
        ? ({ type: "api_token", id: tokenId } as const)
        : ({ type: "operator", id: "operator" } as const)
  return {
    ...actor,
    root: isSame(root, actor) ? null : root,
    name:
      actor.type === "operator"
        ? (operators.find(({ epoch }) => epoch === operatorEpoch)?.name ?? null)
        : name
  }
}

const sessionOf = (operators: Operators["Type"], row: SessionRow): ConsoleSession => {
  const whole = maximum(row)
  const most = row.view.endpointIds === null ? whole : withinEndpoints(whole)
  const {
    endsAt,
    expiresAt,
    id,
    operatorEpoch,
    publishPerMinute,
    tokenId,
    workspaceId,
    workspaceName,
    workspaceSlug
  } = row
  return {
    id,
    workspaceId,
    workspaceSlug,
    publishPerMinute,
    workspaceName,
    tokenId,
    operatorEpoch,
    endsAt,
    expiresAt,
    view: row.view,
    actor: actorOf(operators, row, row.name),
    permissions:
      row.permissions === null
        ? most
        : new Set([...permissionsOf(row.permissions)].filter((permission) => most.has(permission)))
  }
}

/** In this order: the link's URL and the page's headers have them so. */
const sameOrigins = (one: ConsoleView["embedIn"], other: ConsoleView["embedIn"]) =>
  JSON.stringify(one) === JSON.stringify(other)

const roleWith = (granted: ReadonlyArray<string>): Role | null => {
  const held = permissionsOf(granted)
  return (
    Role.literals.find((role) => {
      const ofRole = permissionsOfRole(role)
      return ofRole.size === held.size && [...ofRole].every((permission) => held.has(permission))
    }) ?? null
  )
}

const listed = ({ memberRole, permissions: granted, ...session }: ListedSession) => ({
  ...session,
  role: granted === null ? memberRole : roleWith(granted)
})

/** A caller's own sessions: a member's are those signed in as that member; a token's are those it made; a session's is itself. */
const isOwn = ({ actor, lineage }: Principal, sessionId: string, memberId: string | null, madeBy: Maker) =>
  sessionId === lineage.sessionId ||
  (actor.type === "member" && actor.id === memberId) ||
  (lineage.sessionId === null && isSame(madeBy, actor))

export class ConsoleSessions extends Effect.Service<ConsoleSessions>()(
  "@posthorn/capabilities/ConsoleSessions",
  {
    dependencies: [
      ApiTokens.Default,
      ApiTokensRepo.Default,
      AuditEventsRepo.Default,
      ConsoleRepo.Default,
      Identities.Default,
      WorkspacesRepo.Default
    ],
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* ConsoleRepo
      const audit = yield* AuditEventsRepo
      const apiTokens = yield* ApiTokens
      const tokens = yield* ApiTokensRepo
      const identities = yield* Identities
      const workspaces = yield* WorkspacesRepo
      const operators = yield* Operators
      const epochs = operators.map(({ epoch }) => epoch)

      const record = (
        action: "console.session_ended" | "console.session_opened",
        by: ChangedBy,
        sessionId: ConsoleSessionId,
        facts: object = {}
      ) => audit.append(by, action, ["console_session", sessionId], { fields: [], ...facts })

      /** Ends a session and those opened from it; returns their ids. The workspace must be locked. */
      const endChain = (by: ChangedBy, sessionId: ConsoleSessionId) =>
        Effect.gen(function* () {
          const chain = yield* repo.end(by.workspaceId, sessionId)
          const ended = chain.filter(({ wasOpen }) => wasOpen)
          yield* Effect.forEach(ended, ({ id }) => record("console.session_ended", by, id), { discard: true })
          return chain.map(({ id }) => id)
        })

      /** Undefined if its chain has ended. The workspace must be locked. */
      const open = (
        { workspaceId, workspaceSlug }: Pick<OpenLink, "workspaceId" | "workspaceSlug">,
        grant: Grant,
        name: string | null,
        via: SessionVia,
        traceId: string
      ) =>
        Effect.gen(function* () {
          if (!(yield* tokens.isOpen(workspaceId, grant))) return undefined
          const actor = { ...actorOf(operators, grant, name), via: "console" as const }
          const by = { workspaceId, traceId, actor }
          const isEmbedded = grant.view.embedIn !== null
          const most = isEmbedded ? EMBEDDED_OF_A_MAKER : SESSIONS_OF_A_MAKER
          const tooMany = yield* repo.beyond(workspaceId, grant.madeBy, isEmbedded, most - 1)
          yield* Effect.forEach(tooMany, ({ id }) => endChain(by, id), { discard: true })
          const secret = randomBytes(SECRET_BYTES).toString("base64url")
          const id = newId("consoleSession")
          yield* repo.insertSession(workspaceId, { ...grant, id, via, secretHash: hashOf(secret) })
          yield* record("console.session_opened", by, id, { via, madeBy: grant.madeBy })
          return { workspaceSlug, secret } satisfies Opened
        })

      const isPresent = ({ operatorEpoch }: Grant) => operatorEpoch === null || epochs.includes(operatorEpoch)

      /** Whom a code would sign in, and where; undefined if the code is unknown, used or expired. */
      const findLink = (code: string) =>
        Effect.map(repo.findLinks([hashOf(code)]), ([link]) =>
          link === undefined || !isPresent(link)
            ? undefined
            : { ...link, actor: actorOf(operators, link, link.name) }
        )

      /**
       * Undefined if the code is unknown, used or expired, or if the page may not be embedded where the link says: `embedIn` are
       * the origins that its headers name, null for a page in a window of its own. Otherwise the code cannot be used again.
       */
      const openByCode = (code: string, embedIn: ConsoleView["embedIn"], traceId: string) =>
        Effect.gen(function* () {
          const link = yield* findLink(code)
          if (link === undefined || !sameOrigins(link.view.embedIn, embedIn)) return undefined
          return yield* Effect.gen(function* () {
            const isOurs =
              (yield* workspaces.hold(link.workspaceId)) &&
              (yield* repo.takeLink(link.workspaceId, hashOf(code)))
            return isOurs ? yield* open(link, link, link.name, "link", traceId) : undefined
          }).pipe(transactional(sql))
        }).pipe(Effect.withSpan("ConsoleSessions.openByCode"))

      /** Undefined if the token is not valid. */
      const openByToken = (token: string, traceId: string) =>
        Effect.gen(function* () {
          const identity = yield* identities.identify(token)
          if (identity === undefined) return undefined
          const madeBy = { type: "api_token" as const, id: identity.tokenId }
          const grant: Grant = {
            tokenId: identity.tokenId,
            memberId: null,
            permissions: null,
            sessionId: null,
            operatorEpoch: null,
            madeBy,
            root: identity.root ?? madeBy,
            view: WHOLE_CONSOLE
          }
          return yield* Effect.gen(function* () {
            return (yield* workspaces.hold(identity.workspaceId))
              ? yield* open(identity, grant, identity.name, "token", traceId)
              : undefined
          }).pipe(transactional(sql))
        }).pipe(Effect.withSpan("ConsoleSessions.openByToken"))

      /** The valid sessions with these secrets, of embedded pages or of windows of their own. */
      const identify = (
        secrets: Iterable<readonly [slug: string, secret: string]>,
        { isEmbedded }: { readonly isEmbedded: boolean }
      ) => {
        const asked: ReadonlyArray<Asked> = [...secrets].map(([slug, secret]) => ({
          slug,
          secretHash: hashOf(secret)
        }))
        if (asked.length === 0) return Effect.succeed([])
        return Effect.flatMap(repo.findSessions(asked, epochs), (found) => {
          const rows = found.filter(({ view }) => (view.embedIn !== null) === isEmbedded)
          return Effect.as(
            Effect.forEach(
              rows.filter(({ isStale }) => isStale),
              ({ id, workspaceId }) => repo.touch(workspaceId, id),
              { discard: true }
            ),
            rows.map((row) => sessionOf(operators, row))
          )
        })
      }

      /** Signing out: sessions opened from this one end with it; tokens made in it stay valid. */
      const close = ({ actor, id, workspaceId }: ConsoleSession, traceId: string) =>
        Effect.zipRight(
          workspaces.hold(workspaceId),
          endChain({ workspaceId, traceId, actor: { ...actor, via: "console" } }, id)
        ).pipe(transactional(sql), Effect.asVoid, Effect.withSpan("ConsoleSessions.close"))

      /** Of all sessions only its own exists for one that is limited to endpoints. */
      const list = Effect.fn("ConsoleSessions.list")(function* (query: ListQuery) {
        const { endpointIds, lineage, workspaceId } = yield* CurrentPrincipal
        const only = endpointIds === null ? null : lineage.sessionId
        const page = yield* listPast(byTime, query, (from, limit) =>
          repo.list(workspaceId, epochs, only, limit, from)
        )
        return { ...page, items: page.items.map(listed) }
      })

      /**
       * Ends a session with everything made from it: sessions, links, and tokens with their descendants. Idempotent. Other
       * callers' sessions need `member:manage`.
       */
      const end = (sessionId: ConsoleSessionId) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const { endpointIds, lineage, workspaceId } = principal
          yield* workspaces.hold(workspaceId)
          const session = yield* repo.find(workspaceId, sessionId)
          const exists = endpointIds === null || sessionId === lineage.sessionId
          if (session === undefined || !exists) return yield* new ConsoleSessionNotFound()
          const { madeBy, memberId } = session
          if (!principal.permissions.has("member:manage") && !isOwn(principal, sessionId, memberId, madeBy))
            return yield* new Forbidden({ permission: "member:manage" })
          const chain = yield* endChain(principal, sessionId)
          yield* apiTokens.revokeMadeIn(chain)
        }).pipe(
          transactional(sql),
          Effect.zipLeft(identities.forgetAll),
          Effect.withSpan("ConsoleSessions.end")
        )

      return { close, end, findLink, identify, list, openByCode, openByToken } as const
    })
  }
) {}
