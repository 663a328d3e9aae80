/** Endpoints with a filter, for tests in SQL. */
import { SqlClient } from "@effect/sql/SqlClient"
import { compile } from "@posthorn/domain/filter/Compile"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import { endpoint } from "@posthorn/testkit/Seeds"
import { Effect, Either } from "effect"

/** An endpoint of the workspace with this filter; null for none. */
export const filtered = (workspaceId: string, filter: string | null, enabled = true) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const id = yield* endpoint(workspaceId, { enabled })
    const program = filter === null ? null : compile(Either.getOrThrow(parseFilter(filter)))
    yield* sql`update posthorn.endpoints set filter = ${filter}::json, filter_program = ${program}::jsonb,
      filter_path = posthorn.path_of(${program}::jsonb, 0), filter_weight = (${program}::jsonb ->> 'weight')::integer
      where workspace_id = ${workspaceId} and id = ${id}`
    return id
  })
