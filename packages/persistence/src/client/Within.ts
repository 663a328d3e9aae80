/**
 * Limits statements to what exists for their caller (`Within`): some callers are limited to endpoints of their workspace. For all
 * others a statement stays as it is, and keeps its name and plan.
 *
 * A repository takes `Within` in place of a workspace wherever rows belong to endpoints. `server/test/gate/Limited` runs every
 * operation as a limited caller, and fails for a statement that does not name its endpoints.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { EndpointId } from "@posthorn/domain/Ids"
import type { Within } from "@posthorn/domain/Principal"

/** The endpoints of a limited caller, as a parameter. */
export const idsIn = (sql: SqlClient, ids: ReadonlyArray<EndpointId>) => sql`${ids as Array<string>}::text[]`

/** The condition that the column is one of the caller's endpoints; nothing for a caller without a limit. */
export const ofEndpoints = (sql: SqlClient, { endpointIds }: Within, column: string) =>
  endpointIds === null ? sql`` : sql`and ${sql.literal(column)} = any (${idsIn(sql, endpointIds)})`

/** The newest rows of a table: `newestFirst` of the workspace, or of the caller's endpoints, each by an index of its own. */
export const newestWithin = (
  sql: SqlClient,
  { endpointIds, workspaceId }: Within,
  table: "posthorn.notifications" | "posthorn.replays",
  newestFirst: Fragment
) =>
  endpointIds === null
    ? sql`${sql.literal(table)} where workspace_id = ${workspaceId} and ${newestFirst}`
    : sql`(select t.* from unnest(${idsIn(sql, endpointIds)}) as o(id) cross join lateral (
        select * from ${sql.literal(table)} t where t.workspace_id = ${workspaceId} and t.endpoint_id = o.id and ${newestFirst}
      ) t) t where ${newestFirst}`
