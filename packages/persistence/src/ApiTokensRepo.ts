/** API tokens. Only a hash of the secret is ever stored. Source: decision §3. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Effect, type Option } from "effect"
import { olderThan, type TimePosition } from "./Statement.ts"

export interface ApiTokenRow {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
  readonly revokedAt: string | null
}

/** What the gate needs to know of a token, and of the workspace it opens. */
export interface TokenIdentity {
  readonly workspaceId: string
  readonly workspaceSlug: string
  readonly tokenId: string
  readonly scopes: ReadonlyArray<string>
  readonly secretHash: Buffer
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export interface NewApiToken {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly secretHash: Buffer
  readonly expiresAt: string | null
}

export class ApiTokensRepo extends Effect.Service<ApiTokensRepo>()("@posthorn/persistence/ApiTokensRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(
      `id, name, scopes, created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt",
       revoked_at as "revokedAt"`
    )

    const insert = (workspaceId: string, token: NewApiToken) =>
      sql<ApiTokenRow>`
        insert into posthorn.api_tokens (workspace_id, id, name, scopes, secret_hash, expires_at)
        values (${workspaceId}, ${token.id}, ${token.name}, ${token.scopes as Array<string>}::text[],
                ${token.secretHash}, ${token.expiresAt}::timestamptz)
        returning ${columns}`.pipe(
        Effect.map((rows) => rows[0]!),
        Effect.orDie
      )

    /** By id alone: the token is what tells the workspace. */
    const findIdentity = (tokenId: string) =>
      sql<TokenIdentity>`
        select t.workspace_id as "workspaceId", w.slug as "workspaceSlug", t.id as "tokenId", t.scopes,
          t.secret_hash as "secretHash", t.expires_at as "expiresAt", t.revoked_at as "revokedAt"
        from posthorn.api_tokens t join posthorn.workspaces w on w.id = t.workspace_id
        where t.id = ${tokenId}`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    /** To the minute, so that a busy token costs one small write a minute. */
    const touch = (workspaceId: string, tokenId: string) =>
      sql`update posthorn.api_tokens set last_used_at = date_trunc('minute', now())
        where workspace_id = ${workspaceId} and id = ${tokenId}
          and (last_used_at is null or last_used_at < date_trunc('minute', now()))`.pipe(
        Effect.orDie,
        Effect.asVoid
      )

    /** Newest first, strictly past the position. */
    const list = (workspaceId: string, limit: number, from: Option.Option<TimePosition>) =>
      sql<ApiTokenRow>`select ${columns} from posthorn.api_tokens
        where workspace_id = ${workspaceId} and ${olderThan(sql, from)}
        order by created_at desc, id desc limit ${limit + 1}`.pipe(Effect.orDie)

    /** The token, and whether this call is the one that revoked it; undefined when there is no such token. */
    const revoke = (workspaceId: string, tokenId: string) =>
      sql<{ readonly name: string; readonly fresh: boolean }>`
        with held as (
          select name, revoked_at from posthorn.api_tokens
          where workspace_id = ${workspaceId} and id = ${tokenId} for no key update
        ), revoked as (
          update posthorn.api_tokens set revoked_at = date_trunc('milliseconds', clock_timestamp())
          where workspace_id = ${workspaceId} and id = ${tokenId} and (select revoked_at is null from held)
        )
        select name, revoked_at is null as fresh from held`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    return { findIdentity, insert, list, revoke, touch } as const
  })
}) {}
