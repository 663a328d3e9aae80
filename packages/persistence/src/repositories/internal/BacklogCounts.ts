/**
 * The number of a workspace's waiting deliveries, 0.2 µs each. A count above `MANY` is given again for twenty times its
 * duration, and callers share a count: a process spends at most a twentieth of a core on a workspace.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Deferred, Effect } from "effect"
import { Counted } from "../../client/internal/Columns.ts"
import { rows } from "../../client/Rows.ts"

export const MANY = 50_000
const SHORTEST_MS = 2_000
const TIMES = 20

export const makeBacklogCounts = (sql: SqlClient.SqlClient) => {
  /** Counts of workspaces with many; the next count removes outdated ones. */
  const kept = new Map<WorkspaceId, { readonly waiting: number; readonly until: number }>()
  const underWay = new Map<WorkspaceId, Deferred.Deferred<number, SqlError>>()

  const count = (workspaceId: WorkspaceId) =>
    Effect.gen(function* () {
      const began = yield* elapsedNow
      const [row] = yield* rows(
        sql,
        Counted
      )`select count(*)::integer as n from posthorn.queue where workspace_id = ${workspaceId}`
      const waiting = row!.n
      const ended = yield* elapsedNow
      if (waiting > MANY)
        kept.set(workspaceId, { waiting, until: ended + Math.max(SHORTEST_MS, TIMES * (ended - began)) })
      return waiting
    })

  /** Runs in the background: the first caller may be gone when it ends, but the others still want it. */
  const shared = (workspaceId: WorkspaceId) =>
    Effect.flatMap(Deferred.make<number, SqlError>(), (answer) => {
      kept.delete(workspaceId)
      underWay.set(workspaceId, answer)
      return Effect.onExit(count(workspaceId), (exit) => {
        underWay.delete(workspaceId)
        return Deferred.done(answer, exit)
      })
    }).pipe(Effect.uninterruptible)

  return (workspaceId: WorkspaceId): Effect.Effect<number, SqlError> =>
    Effect.flatMap(elapsedNow, (now) => {
      const known = kept.get(workspaceId)
      if (known !== undefined && now < known.until) return Effect.succeed(known.waiting)
      const running = underWay.get(workspaceId)
      if (running === undefined) return shared(workspaceId)
      return Effect.flatMap(Deferred.await(running), (waiting) =>
        waiting > MANY ? Effect.succeed(waiting) : count(workspaceId)
      )
    })
}
