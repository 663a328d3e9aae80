/**
 * How many deliveries of a workspace wait. Counting costs 0.2 µs each, and somebody who looks at a console asks every few
 * seconds: above `MANY` what was counted is given again until twenty times as long has passed as counting it took, and
 * `SHORTEST_MS` at least, so that no more than a twentieth of a core is spent on it, whatever the backlog. Below, every
 * answer is of its moment.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { Clock, Effect } from "effect"

export const MANY = 50_000
const SHORTEST_MS = 2_000
const TIMES = 20

export const makeBacklogCounts = (sql: SqlClient.SqlClient) => {
  /** Of workspaces with many; what is out of date goes with the next count. */
  const kept = new Map<WorkspaceId, { readonly waiting: number; readonly until: number }>()
  const count = (workspaceId: WorkspaceId) =>
    sql<{
      waiting: number
    }>`select count(*)::integer as waiting from posthorn.queue where workspace_id = ${workspaceId}`

  return (workspaceId: WorkspaceId): Effect.Effect<number, SqlError> =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const known = kept.get(workspaceId)
      if (known !== undefined && began < known.until) return known.waiting
      kept.delete(workspaceId)
      const [row] = yield* count(workspaceId)
      const { waiting } = row!
      const ended = yield* Clock.currentTimeMillis
      if (waiting > MANY)
        kept.set(workspaceId, {
          waiting,
          until: ended + Math.max(SHORTEST_MS, TIMES * (ended - began))
        })
      return waiting
    })
}
