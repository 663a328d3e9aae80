/** Workspaces: the directory that every other key leads with. */
import * as SqlClient from "@effect/sql/SqlClient"
import { WorkspaceSlugTaken } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { refusing, UNIQUE_VIOLATION } from "./Statement.ts"

export interface WorkspaceRow {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly createdAt: string
}

export class WorkspacesRepo extends Effect.Service<WorkspacesRepo>()("@posthorn/persistence/WorkspacesRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const insert = (row: { readonly id: string; readonly slug: string; readonly name: string }) =>
      sql<WorkspaceRow>`insert into posthorn.workspaces ${sql.insert(row)}
        returning id, slug, name, created_at as "createdAt"`.pipe(
        Effect.map((rows) => rows[0]!),
        refusing({ [UNIQUE_VIOLATION]: () => new WorkspaceSlugTaken() })
      )

    const findBySlug = (slug: string) =>
      sql<WorkspaceRow>`select id, slug, name, created_at as "createdAt"
        from posthorn.workspaces where slug = ${slug}`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    return { insert, findBySlug } as const
  })
}) {}
