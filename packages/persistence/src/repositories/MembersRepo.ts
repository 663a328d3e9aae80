/** Members of a workspace. E-mail addresses are unique, ignoring case. Source: spec §4.2. */

import * as SqlClient from "@effect/sql/SqlClient"
import { MemberEmailTaken } from "@posthorn/domain/Errors"
import type { MemberId, WorkspaceId } from "@posthorn/domain/Ids"
import { Role } from "@posthorn/domain/Permission"
import { Effect, type Option, Schema } from "effect"
import { columnsOf, Id } from "../client/internal/Columns.ts"
import { all, first } from "../client/Query.ts"
import { byIdAfter, refusing, UNIQUE_VIOLATION } from "../client/Statement.ts"

export const MemberRow = Schema.Struct({
  id: Id("member"),
  email: Schema.String,
  name: Schema.String,
  role: Role
})
export type MemberRow = typeof MemberRow.Type

const keyOf = (email: string) => email.normalize("NFC").toLowerCase()

export class MembersRepo extends Effect.Service<MembersRepo>()(
  "@posthorn/persistence/repositories/MembersRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsOf(MemberRow))
      const taken = refusing({ [UNIQUE_VIOLATION]: () => new MemberEmailTaken() })

      const list = (
        workspaceId: WorkspaceId,
        limit: number,
        from: Option.Option<{ readonly id: MemberId }>
      ) =>
        all(sql, MemberRow)`select ${columns} from posthorn.members
        where workspace_id = ${workspaceId}
          and ${byIdAfter(sql, limit, from)}`

      const insert = (workspaceId: WorkspaceId, member: MemberRow) =>
        sql`insert into posthorn.members (workspace_id, id, email, email_key, name, role)
        values (${workspaceId}, ${member.id}, ${member.email}, ${keyOf(member.email)}, ${member.name},
          ${member.role})`.pipe(taken, Effect.asVoid)

      const find = (workspaceId: WorkspaceId, memberId: MemberId) =>
        first(sql, MemberRow)`select ${columns} from posthorn.members
        where workspace_id = ${workspaceId} and id = ${memberId}`

      /** Locks the member until the transaction ends, and gives it. */
      const lock = (workspaceId: WorkspaceId, memberId: MemberId) =>
        first(sql, MemberRow)`select ${columns} from posthorn.members
        where workspace_id = ${workspaceId} and id = ${memberId} for no key update`

      const update = (workspaceId: WorkspaceId, member: MemberRow) =>
        sql`update posthorn.members
        set email = ${member.email}, email_key = ${keyOf(member.email)}, name = ${member.name}, role = ${member.role}
        where workspace_id = ${workspaceId} and id = ${member.id}`.pipe(taken, Effect.asVoid)

      const remove = (workspaceId: WorkspaceId, memberId: MemberId) =>
        first(
          sql,
          MemberRow
        )`delete from posthorn.members where workspace_id = ${workspaceId} and id = ${memberId}
        returning ${columns}`

      return { find, insert, list, lock, remove, update } as const
    })
  }
) {}
