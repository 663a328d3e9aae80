/**
 * Sessions of the console: opened by a link's code or by an API token, known again by a secret that only the browser
 * has, ended by signing out, by age, or with what they stand on.
 *
 * The secret is made anew at each sign-in and never taken from the browser, so that nobody can plant one. Rights are
 * read afresh at each request. Source: spec §11.
 */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { newId, type WorkspaceId } from "@posthorn/domain/Ids"
import { type Permission, permissions, permissionsOf, permissionsOfRole } from "@posthorn/domain/Permission"
import type { Actor } from "@posthorn/domain/Principal"
import { ConsoleRepo, type Grant, type SessionRow } from "@posthorn/persistence/repositories/ConsoleRepo"
import { Effect } from "effect"
import { hashOf } from "./ConsoleLinks.ts"
import { Identities } from "./Identities.ts"
import { transactional } from "./Transaction.ts"

const SECRET_BYTES = 32

export interface ConsoleSession {
  readonly id: string
  readonly workspaceId: WorkspaceId
  readonly workspaceSlug: string
  readonly workspaceName: string
  readonly actor: Omit<Actor, "via">
  /** Of the member or the token; null for the operator's. */
  readonly name: string | null
  readonly permissions: ReadonlySet<Permission>
  /** When the session ends at the latest. */
  readonly endsAt: string
  /** When the token that it stands on expires; null when it stands on none, or that never does. */
  readonly expiresAt: string | null
}

export interface Opened {
  readonly workspaceSlug: string
  /** For the cookie; kept nowhere else. */
  readonly secret: string
}

/** What the member or the token may do now; everything for the operator. */
const maximum = ({ memberRole, tokenScopes }: SessionRow): ReadonlySet<Permission> =>
  memberRole !== null
    ? permissionsOfRole(memberRole)
    : tokenScopes !== null
      ? permissionsOf(tokenScopes)
      : new Set(permissions)

const actorOf = ({ memberId, tokenId }: Grant): ConsoleSession["actor"] =>
  memberId !== null
    ? { type: "member", id: memberId }
    : tokenId !== null
      ? { type: "api_token", id: tokenId }
      : { type: "operator", id: "operator" }

const sessionOf = (row: SessionRow): ConsoleSession => {
  const most = maximum(row)
  const { endsAt, expiresAt, id, name, workspaceId, workspaceName, workspaceSlug } = row
  return {
    id,
    workspaceId,
    workspaceSlug,
    workspaceName,
    name,
    endsAt,
    expiresAt,
    actor: actorOf(row),
    permissions:
      row.permissions === null
        ? most
        : new Set([...permissionsOf(row.permissions)].filter((permission) => most.has(permission)))
  }
}

export class ConsoleSessions extends Effect.Service<ConsoleSessions>()(
  "@posthorn/capabilities/ConsoleSessions",
  {
    dependencies: [Identities.Default, ConsoleRepo.Default],
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* ConsoleRepo
      const identities = yield* Identities

      const open = (workspaceId: WorkspaceId, workspaceSlug: string, grant: Grant) => {
        const secret = randomBytes(SECRET_BYTES).toString("base64url")
        return repo
          .insertSession(workspaceId, { ...grant, id: newId("consoleSession"), secretHash: hashOf(secret) })
          .pipe(Effect.as<Opened>({ workspaceSlug, secret }))
      }

      /** Undefined when the code is unknown, used or too old. Whatever happens, it opens nothing a second time. */
      const openByCode = (code: string) =>
        Effect.flatMap(repo.takeLink(hashOf(code)), (link) =>
          link === undefined
            ? Effect.succeed(undefined)
            : open(link.workspaceId, link.workspaceSlug, {
                tokenId: link.tokenId,
                memberId: link.memberId,
                permissions: link.permissions
              })
        ).pipe(transactional(sql), Effect.withSpan("ConsoleSessions.openByCode"))

      /** Undefined when the token is no good. */
      const openByToken = (token: string) =>
        Effect.flatMap(identities.identify(token), (identity) =>
          identity === undefined
            ? Effect.succeed(undefined)
            : open(identity.workspaceId, identity.workspaceSlug, {
                tokenId: identity.tokenId,
                memberId: null,
                permissions: null
              })
        ).pipe(Effect.withSpan("ConsoleSessions.openByToken"))

      /** The session that this secret opens in this workspace, while it lives. */
      const identify = (slug: string, secret: string): Effect.Effect<ConsoleSession | undefined> =>
        Effect.flatMap(repo.findSession(slug, hashOf(secret)), (row) =>
          row === undefined
            ? Effect.succeed(undefined)
            : Effect.as(row.isStale ? repo.touch(row.workspaceId, row.id) : Effect.void, sessionOf(row))
        )

      const close = ({ id, workspaceId }: ConsoleSession) => repo.removeSession(workspaceId, id)

      return { close, identify, openByCode, openByToken } as const
    })
  }
) {}
