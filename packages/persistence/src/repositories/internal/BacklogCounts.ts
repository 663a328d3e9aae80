/**
 * The number of waiting deliveries of a workspace or of some of its endpoints, and of those at disabled ones, 0.2 µs each. A count above `MANY` is given again for twenty times its
 * duration, and callers share a count: a process spends at most a twentieth of a core on a workspace.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Within } from "@posthorn/domain/Principal"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Deferred, Effect, Schema } from "effect"
import { Count, Time } from "../../client/internal/Columns.ts"
import { rows } from "../../client/Rows.ts"
import { ofEndpoints } from "../../client/Within.ts"

export const MANY = 50_000
const SHORTEST_MS = 2_000
const TIMES = 20

const Backlog = Schema.Struct({
  waiting: Count,
  waitingAtDisabled: Count,
  /** When the oldest was made; null for a whole workspace, where an index finds it. */
  oldestAt: Schema.NullOr(Time)
})
type Backlog = typeof Backlog.Type

export const makeBacklogCounts = (sql: SqlClient.SqlClient) => {
  /** Counts of workspaces with many; the next count removes outdated ones. */
  const kept = new Map<string, { readonly backlog: Backlog; readonly until: number }>()
  const underWay = new Map<string, Deferred.Deferred<Backlog, SqlError>>()

  const keyOf = ({ endpointIds, workspaceId }: Within) => [workspaceId, ...(endpointIds ?? [])].join(" ")

  const count = (caller: Within) =>
    Effect.gen(function* () {
      const began = yield* elapsedNow
      const [counted] = yield* rows(sql, Backlog)`
        select count(*)::integer as waiting, count(e.id)::integer as "waitingAtDisabled",
          ${caller.endpointIds === null ? sql`null` : sql`posthorn.made_at(min(q.delivery_id))`} as "oldestAt"
        from posthorn.queue q
        left join posthorn.endpoints e on e.workspace_id = q.workspace_id and e.id = q.endpoint_id and not e.enabled
        where q.workspace_id = ${caller.workspaceId} ${ofEndpoints(sql, caller, "q.endpoint_id")}`
      const backlog = counted!
      const ended = yield* elapsedNow
      for (const [key, { until }] of kept) if (until <= ended) kept.delete(key)
      if (backlog.waiting > MANY)
        kept.set(keyOf(caller), { backlog, until: ended + Math.max(SHORTEST_MS, TIMES * (ended - began)) })
      return backlog
    })

  /** Runs in the background: the first caller may be gone when it ends, but the others still want it. */
  const shared = (caller: Within) =>
    Effect.flatMap(Deferred.make<Backlog, SqlError>(), (answer) => {
      const key = keyOf(caller)
      kept.delete(key)
      underWay.set(key, answer)
      return Effect.onExit(count(caller), (exit) => {
        underWay.delete(key)
        return Deferred.done(answer, exit)
      })
    }).pipe(Effect.uninterruptible)

  return (caller: Within): Effect.Effect<Backlog, SqlError> =>
    Effect.flatMap(elapsedNow, (now) => {
      const known = kept.get(keyOf(caller))
      if (known !== undefined && now < known.until) return Effect.succeed(known.backlog)
      const running = underWay.get(keyOf(caller))
      if (running === undefined) return shared(caller)
      return Effect.flatMap(Deferred.await(running), (backlog) =>
        backlog.waiting > MANY ? Effect.succeed(backlog) : count(caller)
      )
    })
}
