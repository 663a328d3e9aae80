/**
 * The number of a workspace's waiting deliveries, and of those at disabled endpoints, 0.2 µs each. A count above `MANY` is given again for twenty times its
 * duration, and callers share a count: a process spends at most a twentieth of a core on a workspace.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Deferred, Effect, Schema } from "effect"
import { Count } from "../../client/internal/Columns.ts"
import { rows } from "../../client/Rows.ts"

export const MANY = 50_000
const SHORTEST_MS = 2_000
const TIMES = 20

const Backlog = Schema.Struct({ waiting: Count, waitingAtDisabled: Count })
type Backlog = typeof Backlog.Type

export const makeBacklogCounts = (sql: SqlClient.SqlClient) => {
  /** Counts of workspaces with many; the next count removes outdated ones. */
  const kept = new Map<WorkspaceId, { readonly backlog: Backlog; readonly until: number }>()
  const underWay = new Map<WorkspaceId, Deferred.Deferred<Backlog, SqlError>>()

  const count = (workspaceId: WorkspaceId) =>
    Effect.gen(function* () {
      const began = yield* elapsedNow
      const [counted] = yield* rows(sql, Backlog)`
        select count(*)::integer as waiting, count(e.id)::integer as "waitingAtDisabled"
        from posthorn.queue q
        left join posthorn.endpoints e on e.workspace_id = q.workspace_id and e.id = q.endpoint_id and not e.enabled
        where q.workspace_id = ${workspaceId}`
      const backlog = counted!
      const ended = yield* elapsedNow
      if (backlog.waiting > MANY)
        kept.set(workspaceId, { backlog, until: ended + Math.max(SHORTEST_MS, TIMES * (ended - began)) })
      return backlog
    })

  /** Runs in the background: the first caller may be gone when it ends, but the others still want it. */
  const shared = (workspaceId: WorkspaceId) =>
    Effect.flatMap(Deferred.make<Backlog, SqlError>(), (answer) => {
      kept.delete(workspaceId)
      underWay.set(workspaceId, answer)
      return Effect.onExit(count(workspaceId), (exit) => {
        underWay.delete(workspaceId)
        return Deferred.done(answer, exit)
      })
    }).pipe(Effect.uninterruptible)

  return (workspaceId: WorkspaceId): Effect.Effect<Backlog, SqlError> =>
    Effect.flatMap(elapsedNow, (now) => {
      const known = kept.get(workspaceId)
      if (known !== undefined && now < known.until) return Effect.succeed(known.backlog)
      const running = underWay.get(workspaceId)
      if (running === undefined) return shared(workspaceId)
      return Effect.flatMap(Deferred.await(running), (backlog) =>
        backlog.waiting > MANY ? Effect.succeed(backlog) : count(workspaceId)
      )
    })
}
