/**
 * Links that open the console, and its sessions. Only hashes of codes and cookies are stored. Source: spec §11.
 *
 * A session is found only while it lives: not idle for 12 hours, not older than 7 days, its token neither revoked nor
 * expired. A removed member or token takes its links and sessions along (foreign keys).
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { ConsoleSessionId, WorkspaceId } from "@posthorn/domain/Ids"
import { Role } from "@posthorn/domain/Permission"
import { Effect, Schema } from "effect"
import { Id, Texts, Time } from "../client/internal/Columns.ts"
import { execute, first, one } from "../client/Query.ts"

/** Whose rights a link or session has; see migrations/0006_console.sql. */
const Grant = Schema.Struct({
  tokenId: Schema.NullOr(Id("token")),
  memberId: Schema.NullOr(Id("member")),
  permissions: Schema.NullOr(Texts)
})
export type Grant = typeof Grant.Type

export interface NewLink extends Grant {
  readonly id: string
  readonly codeHash: Buffer
  readonly lifeMs: number
}

export interface NewSession extends Grant {
  readonly id: string
  readonly secretHash: Buffer
}

const MadeLink = Schema.Struct({ expiresAt: Time })

const TakenLink = Schema.Struct({
  ...Grant.fields,
  workspaceId: Id("workspace"),
  workspaceSlug: Schema.String,
  isOpen: Schema.Boolean
})
export type OpenedLink = Omit<typeof TakenLink.Type, "isOpen">

export const SessionRow = Schema.Struct({
  ...Grant.fields,
  id: Id("consoleSession"),
  workspaceId: Id("workspace"),
  workspaceSlug: Schema.String,
  workspaceName: Schema.String,
  tokenScopes: Schema.NullOr(Texts),
  memberRole: Schema.NullOr(Role),
  /** The member's or the token's name; null for the operator's. */
  name: Schema.NullOr(Schema.String),
  endsAt: Time,
  /** The token's. */
  expiresAt: Schema.NullOr(Time),
  /** Whether `lastSeenAt` is more than a minute ago. */
  isStale: Schema.Boolean
})
export type SessionRow = typeof SessionRow.Type

export class ConsoleRepo extends Effect.Service<ConsoleRepo>()(
  "@posthorn/persistence/repositories/ConsoleRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Also removes the workspace's links that nobody opened in time. */
      const insertLink = (workspaceId: WorkspaceId, link: NewLink) =>
        Effect.map(
          one(sql, MadeLink)`
        with expired as (
          delete from posthorn.console_links where workspace_id = ${workspaceId} and expires_at < now()
        )
        insert into posthorn.console_links (workspace_id, id, code_hash, token_id, member_id, permissions, expires_at)
        values (${workspaceId}, ${link.id}, ${link.codeHash}, ${link.tokenId}, ${link.memberId},
          ${link.permissions as Array<string> | null}::text[],
          clock_timestamp() + ${link.lifeMs} * interval '1 millisecond')
        returning expires_at as "expiresAt"`,
          ({ expiresAt }) => expiresAt
        )

      /** Takes the link away, whoever comes first; undefined when there is none, or it came too late. */
      const takeLink = (codeHash: Buffer) =>
        Effect.map(
          first(sql, TakenLink)`
        delete from posthorn.console_links l using posthorn.workspaces w
        where l.code_hash = ${codeHash} and w.id = l.workspace_id
        returning l.workspace_id as "workspaceId", w.slug as "workspaceSlug", l.token_id as "tokenId",
          l.member_id as "memberId", l.permissions, l.expires_at > clock_timestamp() as "isOpen"`,
          (link): OpenedLink | undefined => (link?.isOpen ? link : undefined)
        )

      /** Also removes the workspace's sessions that have ended by their age. */
      const insertSession = (workspaceId: WorkspaceId, session: NewSession) =>
        execute(sql)`
        with expired as (
          delete from posthorn.console_sessions where workspace_id = ${workspaceId} and expires_at < now()
        )
        insert into posthorn.console_sessions
          (workspace_id, id, secret_hash, token_id, member_id, permissions, expires_at)
        values (${workspaceId}, ${session.id}, ${session.secretHash}, ${session.tokenId}, ${session.memberId},
          ${session.permissions as Array<string> | null}::text[], clock_timestamp() + interval '7 days')`

      const findSession = (slug: string, secretHash: Buffer) =>
        first(sql, SessionRow)`
        select s.id, w.id as "workspaceId", w.slug as "workspaceSlug", w.name as "workspaceName",
          s.token_id as "tokenId", s.member_id as "memberId", s.permissions, t.scopes as "tokenScopes",
          m.role as "memberRole", coalesce(m.name, t.name) as name, s.expires_at as "endsAt", t.expires_at as "expiresAt",
          s.last_seen_at < clock_timestamp() - interval '1 minute' as "isStale"
        from posthorn.workspaces w
        join posthorn.console_sessions s on s.workspace_id = w.id and s.secret_hash = ${secretHash}
        left join posthorn.api_tokens t on t.workspace_id = s.workspace_id and t.id = s.token_id
        left join posthorn.members m on m.workspace_id = s.workspace_id and m.id = s.member_id
        where w.slug = ${slug}
          and s.expires_at > clock_timestamp() and s.last_seen_at > clock_timestamp() - interval '12 hours'
          and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())`

      const touch = (workspaceId: WorkspaceId, sessionId: ConsoleSessionId) =>
        execute(sql)`update posthorn.console_sessions set last_seen_at = clock_timestamp()
        where workspace_id = ${workspaceId} and id = ${sessionId}`

      const removeSession = (workspaceId: WorkspaceId, sessionId: ConsoleSessionId) =>
        execute(
          sql
        )`delete from posthorn.console_sessions where workspace_id = ${workspaceId} and id = ${sessionId}`

      return { findSession, insertLink, insertSession, removeSession, takeLink, touch } as const
    })
  }
) {}
