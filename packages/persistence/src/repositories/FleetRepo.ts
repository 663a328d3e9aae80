/**
 * All workspaces for the operator, those with the most waiting deliveries first. Counting costs 0.2 µs each, so a process
 * counts at most every `COUNTED_FOR`. Source: spec §5.2.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { Effect, type Option, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import { all } from "../client/Query.ts"

const COUNTED_FOR = "2 seconds"

const FleetRow = Schema.Struct({
  id: Id("workspace"),
  slug: Schema.String,
  name: Schema.String,
  waiting: Count,
  oldestWaitingSeconds: Schema.NullOr(Count),
  endpoints: Schema.Struct({ total: Count, disabled: Count, failing: Count })
})

const Waiting = Schema.Struct({ id: Id("workspace"), waiting: Count })

export class FleetRepo extends Effect.Service<FleetRepo>()("@posthorn/persistence/repositories/FleetRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const counts = yield* Effect.cachedWithTTL(
      all(
        sql,
        Waiting
      )`select workspace_id as id, count(*)::integer as waiting from posthorn.queue group by 1`,
      COUNTED_FOR
    )

    /** By waiting deliveries, descending. A streak of at least `failing` counts as failing. */
    const list = (
      failing: number,
      limit: number,
      from: Option.Option<{ readonly waiting: number; readonly id: WorkspaceId }>
    ) =>
      Effect.flatMap(counts, (counted) => {
        const past = from._tag === "None" ? { waiting: Number.MAX_SAFE_INTEGER, id: "" } : from.value
        return all(sql, FleetRow)`
          with page as materialized (
            select w.id, w.slug, w.name, coalesce(c.waiting, 0) as waiting from posthorn.workspaces w
            left join unnest(${counted.map(({ id }) => id)}::text[], ${counted.map(({ waiting }) => waiting)}::bigint[])
              as c(id, waiting) on c.id = w.id
            where (-coalesce(c.waiting, 0), w.id) > (${-past.waiting}::bigint, ${past.id}::text)
            order by 4 desc, 1 limit ${limit + 1}
          )
          select p.id, p.slug, p.name, case when oldest.seconds is null then 0 else greatest(1, p.waiting) end as waiting,
            oldest.seconds as "oldestWaitingSeconds", counted.endpoints
          from page p
          left join lateral (
            select greatest(0, floor(extract(epoch from now() - d.created_at)))::integer as seconds
            from posthorn.deliveries d
            where d.workspace_id = p.id and d.id = (
              select q.delivery_id from posthorn.queue q where q.workspace_id = p.id order by q.delivery_id limit 1)
          ) oldest on true
          cross join lateral (
            select json_build_object('total', count(*), 'disabled', count(*) filter (where not e.enabled),
              'failing', count(*) filter (where e.enabled and e.consecutive_failures >= ${failing})) as endpoints
            from posthorn.endpoints e where e.workspace_id = p.id
          ) counted
          order by p.waiting desc, p.id`
      })

    return { list } as const
  })
}) {}
