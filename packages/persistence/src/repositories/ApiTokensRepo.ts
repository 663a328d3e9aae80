/** API tokens. Only a hash of each secret is stored. Source: spec §5.1. */

import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { ConsoleSessionId, TokenId, WorkspaceId } from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import { Scope } from "@posthorn/domain/Permission"
import { type Lineage, Maker } from "@posthorn/domain/Principal"
import { Effect, type Option, Schema } from "effect"
import { Bytes, Count, columnsOf, Id, Texts, Time } from "../client/internal/Columns.ts"
import { all, counted, execute, first, hasRow, one } from "../client/Query.ts"
import { newestFirst } from "../client/Statement.ts"

export const ApiTokenRow = Schema.Struct({
  id: Id("token"),
  name: Schema.String,
  scopes: Schema.Array(Scope),
  createdAt: Time,
  expiresAt: Schema.NullOr(Time),
  lastUsedAt: Schema.NullOr(Time),
  revokedAt: Schema.NullOr(Time),
  /** Null for tokens older than this column. */
  createdBy: Schema.NullOr(Maker)
})
export type ApiTokenRow = typeof ApiTokenRow.Type

export const TokenIdentity = Schema.Struct({
  workspaceId: Id("workspace"),
  workspaceSlug: Schema.String,
  /** The workspace's own limit, if it has one. */
  publishPerMinute: Schema.NullOr(Count),
  tokenId: Id("token"),
  name: Schema.String,
  scopes: Texts,
  secretHash: Bytes,
  expiresAt: Schema.NullOr(Time),
  /** Time left until it expires, by the database's clock; null when it never expires. */
  leftMs: Schema.NullOr(Schema.Number),
  revokedAt: Schema.NullOr(Time),
  /** The root of its chain. */
  root: Schema.NullOr(Maker)
})
export type TokenIdentity = typeof TokenIdentity.Type

interface NewApiToken {
  readonly id: TokenId
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly secretHash: Buffer
  readonly expiresAt: string | null
  readonly createdBy: Maker
  readonly lineage: Lineage
  readonly root: Maker | null
}

const CallerRow = Schema.Struct({
  id: Id("token"),
  name: Schema.String,
  scopes: Schema.Array(Scope),
  expiresAt: Schema.NullOr(Time),
  workspace: Schema.Struct({ slug: Schema.String, name: Schema.String })
})

const Revoked = Schema.Struct({ id: Id("token"), name: Schema.String })

export class ApiTokensRepo extends Effect.Service<ApiTokensRepo>()(
  "@posthorn/persistence/repositories/ApiTokensRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(
        columnsOf(ApiTokenRow, "", {
          createdBy: `case when created_by_type is not null
          then json_build_object('type', created_by_type, 'id', created_by_id) end`
        })
      )

      const insert = (workspaceId: WorkspaceId, token: NewApiToken) =>
        one(sql, ApiTokenRow)`
        insert into posthorn.api_tokens 
          (workspace_id, id, name, scopes, secret_hash, expires_at, created_by_type, created_by_id, parent_id, session_id,
            root_type, root_id)
        values (${workspaceId}, ${token.id}, ${token.name}, ${token.scopes as Array<string>}::text[],
                ${token.secretHash}, ${token.expiresAt}::timestamptz, ${token.createdBy.type}, ${token.createdBy.id},
                ${token.lineage.tokenId}, ${token.lineage.sessionId}, ${token.root?.type ?? null}, ${token.root?.id ?? null})
        returning ${columns}`

      /** The tokens that exist. Found by id only, because the token determines the workspace. */
      const findIdentities = (tokenIds: ReadonlyArray<string>) =>
        all(sql, TokenIdentity)`
        select t.workspace_id as "workspaceId", w.slug as "workspaceSlug",
          w.publish_per_minute as "publishPerMinute", t.id as "tokenId", t.name, t.scopes,
          t.secret_hash as "secretHash", t.expires_at as "expiresAt", t.revoked_at as "revokedAt",
          (extract(epoch from t.expires_at - clock_timestamp()) * 1000)::float8 as "leftMs",
          case when t.root_type is not null then json_build_object('type', t.root_type, 'id', t.root_id) end as root
        from posthorn.api_tokens t join posthorn.workspaces w on w.id = t.workspace_id
        where t.id = any(${tokenIds as Array<string>}::text[])`

      const findCaller = (workspaceId: WorkspaceId, tokenId: TokenId) =>
        first(sql, CallerRow)`
        select t.id, t.name, t.scopes, t.expires_at as "expiresAt",
          json_build_object('slug', w.slug, 'name', w.name) as workspace
        from posthorn.api_tokens t join posthorn.workspaces w on w.id = t.workspace_id
        where t.workspace_id = ${workspaceId} and t.id = ${tokenId}`

      /** Accurate to the minute, so that a busy token costs one small write a minute. */
      const touch = (workspaceId: WorkspaceId, tokenId: TokenId) =>
        execute(sql)`update posthorn.api_tokens set last_used_at = date_trunc('minute', now())
        where workspace_id = ${workspaceId} and id = ${tokenId}
          and (last_used_at is null or last_used_at < date_trunc('minute', now()))`

      const list = (workspaceId: WorkspaceId, limit: number, from: Option.Option<TimePosition>) =>
        all(sql, ApiTokenRow)`select ${columns} from posthorn.api_tokens
        where workspace_id = ${workspaceId} and ${newestFirst(sql, limit, from)}`

      /** Call it while the workspace is locked, so that the answer stays true. */
      const isOpen = (workspaceId: WorkspaceId, { sessionId, tokenId }: Lineage) =>
        hasRow(sql)`select where
          (${tokenId}::text is null or exists (
            select from posthorn.api_tokens where workspace_id = ${workspaceId} and id = ${tokenId}
              and revoked_at is null and (expires_at is null or expires_at > now())))
          and (${sessionId}::text is null or exists (
            select from posthorn.console_sessions where workspace_id = ${workspaceId} and id = ${sessionId}
              and ended_at is null and expires_at > now()))`

      /** By the database's clock, like every expiry. */
      const isPast = (moment: string) => hasRow(sql)`select where ${moment}::timestamptz <= clock_timestamp()`

      /** The number of valid tokens. The index holds them, and some that have expired since. */
      const countOpen = (workspaceId: WorkspaceId) =>
        counted(sql)`select count(*) as n from posthorn.api_tokens
        where workspace_id = ${workspaceId} and revoked_at is null
          and coalesce(expires_at, 'infinity'::timestamptz) > now()`

      const exists = (workspaceId: WorkspaceId, tokenId: TokenId) =>
        hasRow(sql)`select from posthorn.api_tokens where workspace_id = ${workspaceId} and id = ${tokenId}`

      /**
       * Revokes `first`, and with `descendants` every token made by them, directly or not; gives those that this call revoked.
       * Lock the workspace first.
       */
      const revokeFrom = (workspaceId: WorkspaceId, first: Fragment, descendants: boolean) =>
        all(sql, Revoked)`
        with recursive lineage as (
          select id from posthorn.api_tokens where workspace_id = ${workspaceId} and ${first}
          union
          select t.id from lineage l join posthorn.api_tokens t
            on t.workspace_id = ${workspaceId} and t.parent_id = l.id
          where ${descendants}
        ), revoked as (
          update posthorn.api_tokens t set revoked_at = date_trunc('milliseconds', clock_timestamp())
          from lineage l where t.workspace_id = ${workspaceId} and t.id = l.id and t.revoked_at is null
          returning t.id, t.name
        )
        select id, name from revoked order by id`

      const revoke = (workspaceId: WorkspaceId, tokenId: TokenId, descendants: boolean) =>
        revokeFrom(workspaceId, sql`id = ${tokenId}`, descendants)

      const revokeMadeIn = (workspaceId: WorkspaceId, sessionIds: ReadonlyArray<ConsoleSessionId>) =>
        revokeFrom(workspaceId, sql`session_id = any(${sessionIds as Array<string>}::text[])`, true)

      return {
        countOpen,
        exists,
        findCaller,
        findIdentities,
        insert,
        isOpen,
        isPast,
        list,
        revoke,
        revokeMadeIn,
        touch
      } as const
    })
  }
) {}
