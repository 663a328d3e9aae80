/**
 * Links that open the console, and its sessions. Only hashes of codes and cookies are stored. Source: spec §11.
 *
 * A valid session is not ended, not idle for 12 hours, not older than 7 days, and no part of its chain has ended.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import { ConsoleView } from "@posthorn/domain/ConsoleView"
import type { ConsoleSessionId, WorkspaceId } from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import { Role } from "@posthorn/domain/Permission"
import { Maker } from "@posthorn/domain/Principal"
import { Effect, type Option, Schema } from "effect"
import { Count, Id, Texts, Time } from "../client/internal/Columns.ts"
import { all, counted, execute, first, one } from "../client/Query.ts"
import { newestFirst } from "../client/Statement.ts"

/** Whose rights a link or session has, what it may see, and the chain behind it; see migrations/0006_console.sql. */
const Grant = Schema.Struct({
  tokenId: Schema.NullOr(Id("token")),
  memberId: Schema.NullOr(Id("member")),
  permissions: Schema.NullOr(Texts),
  sessionId: Schema.NullOr(Id("consoleSession")),
  operatorEpoch: Schema.NullOr(Schema.String),
  madeBy: Maker,
  root: Maker,
  view: ConsoleView
})
export type Grant = typeof Grant.Type

export const SessionVia = Schema.Literal("link", "token")
export type SessionVia = typeof SessionVia.Type

interface NewLink extends Grant {
  readonly id: string
  readonly codeHash: Buffer
  readonly lifeMs: number
}

interface NewSession extends Grant {
  readonly id: string
  readonly secretHash: Buffer
  readonly via: SessionVia
}

const MadeLink = Schema.Struct({ expiresAt: Time })

export const OpenLink = Schema.Struct({
  ...Grant.fields,
  workspaceId: Id("workspace"),
  workspaceSlug: Schema.String,
  workspaceName: Schema.String,
  /** Permissions of the member or the token; null for the operator. */
  name: Schema.NullOr(Schema.String)
})
export type OpenLink = typeof OpenLink.Type

export const SessionRow = Schema.Struct({
  ...Grant.fields,
  id: Id("consoleSession"),
  workspaceId: Id("workspace"),
  workspaceSlug: Schema.String,
  /** The workspace's own limit, if it has one. */
  publishPerMinute: Schema.NullOr(Count),
  workspaceName: Schema.String,
  tokenScopes: Schema.NullOr(Texts),
  memberRole: Schema.NullOr(Role),
  /** The member's or the token's name; null for the operator. */
  name: Schema.NullOr(Schema.String),
  endsAt: Time,
  expiresAt: Schema.NullOr(Time),
  /** Whether `lastSeenAt` is more than a minute ago. */
  isStale: Schema.Boolean
})
export type SessionRow = typeof SessionRow.Type

export const ListedSession = Schema.Struct({
  id: Id("consoleSession"),
  memberId: Schema.NullOr(Id("member")),
  memberRole: Schema.NullOr(Role),
  permissions: Schema.NullOr(Texts),
  via: SessionVia,
  madeBy: Maker,
  createdAt: Time,
  lastSeenAt: Time,
  expiresAt: Time
})
export type ListedSession = typeof ListedSession.Type

const Found = Schema.Struct({ memberId: Schema.NullOr(Id("member")), madeBy: Maker, view: ConsoleView })
const Ended = Schema.Struct({ id: Id("consoleSession"), wasOpen: Schema.Boolean })
const Named = Schema.Struct({ id: Id("consoleSession") })

/** The secret of one workspace's session, as a browser's cookie or an embedded page sends it. */
export interface Asked {
  readonly slug: string
  readonly secretHash: Buffer
}

export class ConsoleRepo extends Effect.Service<ConsoleRepo>()(
  "@posthorn/persistence/repositories/ConsoleRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const grantOf = (table: string) =>
        sql.literal(`${table}.token_id as "tokenId", ${table}.member_id as "memberId", ${table}.permissions,
          ${table}.session_id as "sessionId", ${table}.operator_epoch as "operatorEpoch",
          json_build_object('type', ${table}.made_by_type, 'id', ${table}.made_by_id) as "madeBy",
          json_build_object('type', ${table}.root_type, 'id', ${table}.root_id) as root, ${table}.view`)
      const ofLink = grantOf("l")
      const ofSession = grantOf("s")

      /** The latest possible expiry of what is made in this session. */
      const latestEnd = (workspaceId: WorkspaceId, { sessionId }: Grant) =>
        sql`(select expires_at from posthorn.console_sessions where workspace_id = ${workspaceId} and id = ${sessionId})`

      const columnsOf = (grant: Grant) => {
        const { madeBy, memberId, operatorEpoch, permissions, root, sessionId, tokenId, view } = grant
        return sql`${tokenId}, ${memberId}, ${permissions as Array<string> | null}::text[], ${sessionId}, ${operatorEpoch},
          ${madeBy.type}, ${madeBy.id}, ${root.type}, ${root.id}, ${JSON.stringify(view)}::jsonb`
      }

      /** Whether the workspace has all of these endpoints. */
      const haveEndpoints = (workspaceId: WorkspaceId, endpointIds: ReadonlyArray<string>) =>
        Effect.map(
          counted(sql)`select count(*)::integer as n from posthorn.endpoints
          where workspace_id = ${workspaceId} and id = any(${endpointIds as Array<string>}::text[])`,
          (n) => n === new Set(endpointIds).size
        )

      /** Also removes links of the workspace that were not opened in time. */
      const insertLink = (workspaceId: WorkspaceId, link: NewLink) =>
        Effect.map(
          one(sql, MadeLink)`
        with expired as (
          delete from posthorn.console_links where workspace_id = ${workspaceId} and expires_at < now()
        )
        insert into posthorn.console_links (workspace_id, id, code_hash, token_id, member_id, permissions, session_id,
          operator_epoch, made_by_type, made_by_id, root_type, root_id, view, expires_at)
        values (${workspaceId}, ${link.id}, ${link.codeHash}, ${columnsOf(link)},
          least(clock_timestamp() + ${link.lifeMs} * interval '1 millisecond', ${latestEnd(workspaceId, link)}))
        returning expires_at as "expiresAt"`,
          ({ expiresAt }) => expiresAt
        )

      /** The valid links with these codes. Found by code only, because the code determines the workspace. */
      const findLinks = (codeHashes: ReadonlyArray<Buffer>) =>
        all(sql, Schema.Struct({ ...OpenLink.fields, code: Schema.String }))`
        select ${ofLink}, w.id as "workspaceId", w.slug as "workspaceSlug", w.name as "workspaceName",
          coalesce(m.name, t.name) as name, encode(l.code_hash, 'hex') as code
        from unnest(${codeHashes.map((hash) => hash.toString("hex"))}::text[]) as asked(code)
        join posthorn.console_links l on l.code_hash = decode(asked.code, 'hex')
        join posthorn.workspaces w on w.id = l.workspace_id
        left join posthorn.api_tokens t on t.workspace_id = l.workspace_id and t.id = l.token_id
        left join posthorn.members m on m.workspace_id = l.workspace_id and m.id = l.member_id
        where l.expires_at > clock_timestamp()`

      /** Removes the link for the first caller; false when it does not exist or has expired. */
      const takeLink = (workspaceId: WorkspaceId, codeHash: Buffer) =>
        Effect.map(
          first(sql, Schema.Struct({ isOpen: Schema.Boolean }))`
        delete from posthorn.console_links where workspace_id = ${workspaceId} and code_hash = ${codeHash}
        returning expires_at > clock_timestamp() as "isOpen"`,
          (link) => link?.isOpen === true
        )

      /** Also removes expired sessions of the workspace. */
      const insertSession = (workspaceId: WorkspaceId, session: NewSession) =>
        execute(sql)`
        with expired as (
          delete from posthorn.console_sessions where workspace_id = ${workspaceId} and expires_at < now()
        )
        insert into posthorn.console_sessions (workspace_id, id, secret_hash, via, token_id, member_id, permissions,
          session_id, operator_epoch, made_by_type, made_by_id, root_type, root_id, view, expires_at)
        values (${workspaceId}, ${session.id}, ${session.secretHash}, ${session.via}, ${columnsOf(session)},
          least(clock_timestamp() + interval '7 days', ${latestEnd(workspaceId, session)}))`

      /** The tables of a session `s`, its token `t` and its member `m`, and the condition that it is valid. */
      const living = (operatorEpochs: ReadonlyArray<string>) => sql`
        left join posthorn.api_tokens t on t.workspace_id = s.workspace_id and t.id = s.token_id
        left join posthorn.members m on m.workspace_id = s.workspace_id and m.id = s.member_id
        where s.ended_at is null
          and s.expires_at > clock_timestamp() and s.last_seen_at > clock_timestamp() - interval '12 hours'
          and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())
          and (s.operator_epoch is null or s.operator_epoch = any(${operatorEpochs as Array<string>}::text[]))`

      /** The valid ones among these, in one statement. */
      const findSessions = (asked: ReadonlyArray<Asked>, operatorEpochs: ReadonlyArray<string>) =>
        all(sql, SessionRow)`
        select s.id, w.id as "workspaceId", w.slug as "workspaceSlug", w.name as "workspaceName",
          w.publish_per_minute as "publishPerMinute", ${ofSession}, t.scopes as "tokenScopes",
          m.role as "memberRole", coalesce(m.name, t.name) as name, s.expires_at as "endsAt", t.expires_at as "expiresAt",
          s.last_seen_at < clock_timestamp() - interval '1 minute' as "isStale"
        from unnest(${asked.map(({ slug }) => slug)}::text[],
          ${asked.map(({ secretHash }) => secretHash.toString("hex"))}::text[]) as asked(slug, secret)
        join posthorn.workspaces w on w.slug = asked.slug
        join posthorn.console_sessions s on s.workspace_id = w.id and s.secret_hash = decode(asked.secret, 'hex')
        ${living(operatorEpochs)}`

      const list = (
        workspaceId: WorkspaceId,
        operatorEpochs: ReadonlyArray<string>,
        only: ConsoleSessionId | null,
        limit: number,
        from: Option.Option<TimePosition>
      ) =>
        all(sql, ListedSession)`
        select id, "memberId", "memberRole", permissions, via, "madeBy", created_at as "createdAt",
          "lastSeenAt", "expiresAt"
        from (
          select s.id, s.member_id as "memberId", m.role as "memberRole", s.permissions, s.via, s.created_at,
            json_build_object('type', s.made_by_type, 'id', s.made_by_id) as "madeBy",
            s.last_seen_at as "lastSeenAt", s.expires_at as "expiresAt"
          from posthorn.console_sessions s ${living(operatorEpochs)} and s.workspace_id = ${workspaceId}
            ${only === null ? sql`` : sql`and s.id = ${only}`}
        ) s where ${newestFirst(sql, limit, from)}`

      const find = (workspaceId: WorkspaceId, sessionId: ConsoleSessionId) =>
        first(sql, Found)`select member_id as "memberId",
          json_build_object('type', made_by_type, 'id', made_by_id) as "madeBy", view
        from posthorn.console_sessions
        where workspace_id = ${workspaceId} and id = ${sessionId}`

      /** A maker's valid sessions of one kind, embedded or not, without the `most` that were used last. */
      const beyond = (workspaceId: WorkspaceId, madeBy: Maker, isEmbedded: boolean, most: number) =>
        all(sql, Named)`select id from posthorn.console_sessions
        where workspace_id = ${workspaceId} and made_by_type = ${madeBy.type} and made_by_id = ${madeBy.id}
          and ended_at is null and expires_at > now() and (view -> 'embedIn' <> 'null') = ${isEmbedded}
        order by last_seen_at desc, id desc offset ${most}`

      const touch = (workspaceId: WorkspaceId, sessionId: ConsoleSessionId) =>
        execute(sql)`update posthorn.console_sessions set last_seen_at = clock_timestamp()
        where workspace_id = ${workspaceId} and id = ${sessionId}`

      /**
       * Ends the session and all that were opened from it, and removes their links; gives all of them. Lock the workspace
       * first.
       */
      const end = (workspaceId: WorkspaceId, sessionId: ConsoleSessionId) =>
        all(sql, Ended)`
        with recursive chain as (
          select id from posthorn.console_sessions where workspace_id = ${workspaceId} and id = ${sessionId}
          union
          select s.id from chain c join posthorn.console_sessions s
            on s.workspace_id = ${workspaceId} and s.session_id = c.id
        ), ended as (
          update posthorn.console_sessions s set ended_at = clock_timestamp()
          from chain c where s.workspace_id = ${workspaceId} and s.id = c.id and s.ended_at is null
          returning s.id
        ), unopened as (
          delete from posthorn.console_links l using chain c
          where l.workspace_id = ${workspaceId} and l.session_id = c.id
        )
        select c.id, e.id is not null as "wasOpen" from chain c left join ended e on e.id = c.id order by c.id`

      return {
        beyond,
        end,
        find,
        findLinks,
        findSessions,
        haveEndpoints,
        insertLink,
        insertSession,
        list,
        takeLink,
        touch
      } as const
    })
  }
) {}
