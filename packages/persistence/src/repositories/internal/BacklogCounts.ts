/**
 * How many deliveries of a workspace wait. Counting costs 0.2 µs each, and somebody who looks at a console asks every few
 * seconds: above `MANY` what was counted is given again until twenty times as long has passed as counting it took, and
 * `SHORTEST_MS` at least, and whoever asks while it is being counted waits for that count. So no more than a twentieth of a
 * core is spent on a workspace by a process, whatever the backlog, and however many look. Below, every answer is of its moment.
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
  /** Of workspaces with many; what is out of date goes with the next count. */
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

  /** Whoever asked first may have gone when it is there: the others still want it. */
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
