/** Judges filters that nobody has yet on events that were published. Source: spec §6.3. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import type { Within } from "@posthorn/domain/Principal"
import { Effect, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import { all } from "../client/Query.ts"
import { existsInTime } from "./internal/EventsWithin.ts"

/** A filter in the forms that PostgreSQL judges and explains by (`domain/filter/Compile`). */
export interface CompiledFilter {
  readonly program: string
  /** The path that explains, and how many conditions it has. */
  readonly path: string
  readonly conditions: number
}

const Sized = Schema.Struct({ id: Id("event"), bytes: Count })
export type Sized = typeof Sized.Type

const Judged = Schema.Struct({
  id: Schema.NullOr(Id("event")),
  /** Null when the filter holds, otherwise the condition that does not, from 1 on. */
  failing: Schema.NullOr(Count)
})
export type Judged = typeof Judged.Type

/** Most types, in the order of their names, that patterns with a prefix find: 10 us for each. */
const MOST_TYPES = 5_000

/** The first and the last type that a pattern wants. In byte order `{` follows what names of types may hold. */
const rangeOf = (pattern: string): readonly [string, string] => {
  const prefix = pattern.replace(/\*$/, "")
  return prefix === pattern ? [pattern, pattern] : [prefix, `${prefix}{`]
}

export class FiltersRepo extends Effect.Service<FiltersRepo>()(
  "@posthorn/persistence/repositories/FiltersRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /**
       * Of the newest `most` events that the patterns want those that were not purged, newest first, with the bytes of their payloads;
       * without types that begin with one of `hidden`. None of them is of a type whose newest event is older than those of `most`
       * other types. Of them, those that exist for the caller.
       */
      const newest = (
        { endpointIds, workspaceId }: Within,
        patterns: ReadonlyArray<string>,
        hidden: ReadonlyArray<string>,
        most: number
      ) => {
        const ranges = patterns.map(rangeOf)
        const ofAll = sql`select e.id from posthorn.events e
          where e.workspace_id = ${workspaceId} order by e.id desc limit ${most}`
        const firstOf = (condition: string) => sql`cross join lateral (
            select e.event_type, e.id from posthorn.events e
            where e.workspace_id = ${workspaceId} and ${sql.literal(condition)}
            order by e.event_type, e.id desc limit 1
          ) n`
        const ofTypes = sql`select e.id from (
            select distinct t.event_type, t.id from (select * from types limit ${MOST_TYPES}) t
            where not t.event_type ^@ any (${hidden as Array<string>}::text[])
            order by t.id desc limit ${most}
          ) t cross join lateral (
            select e.id from posthorn.events e
            where e.workspace_id = ${workspaceId} and e.event_type = t.event_type
            order by e.event_type, e.id desc limit ${most}
          ) e order by e.id desc limit ${most}`
        return all(sql, Sized)`
        with recursive types as (
          select n.event_type, n.id, r.last
          from unnest(${ranges.map(([first]) => first)}::text[], ${ranges.map(([, last]) => last)}::text[]) as r(first, last)
          ${firstOf("e.event_type >= r.first and e.event_type <= r.last")}
          union all
          select n.event_type, n.id, t.last from types t
          ${firstOf("e.event_type > t.event_type and e.event_type <= t.last")}
        )
        select e.id, e.bytes
        from (${patterns.includes("*") && hidden.length === 0 ? ofAll : ofTypes}) w cross join lateral (
          select e.id, octet_length(e.payload) as bytes from posthorn.events e
          where e.workspace_id = ${workspaceId} and e.id = w.id and e.purged_at is null
            ${
              endpointIds === null
                ? sql``
                : sql`and (select ${existsInTime(sql, { endpointIds, workspaceId }, "false")} from (select e.*) r)`
            } offset 0
        ) e
        order by e.id desc`
      }

      const judging = ({ conditions, path, program }: CompiledFilter) => sql`
        cross join lateral (select ${program}::jsonb as program offset 0) f
        cross join lateral (
          select posthorn.lets_through(posthorn.path_of(f.program, 0), f.program, j.judged) as holds offset 0
        ) h cross join lateral (
          select case when not h.holds then posthorn.first_failing(${path}, ${conditions}, j.judged) end as failing
        ) e`

      /** Events that are gone meanwhile are left out. */
      const judge = (workspaceId: WorkspaceId, events: ReadonlyArray<Sized>, filter: CompiledFilter) =>
        all(sql, Judged)`
        select j.id, e.failing
        from (
          select e.id, posthorn.judged(e.payload) as judged
          from unnest(${events.map(({ id }) => id)}::text[]) as w(id) cross join lateral (
            select e.id, e.payload from posthorn.events e where e.workspace_id = ${workspaceId} and e.id = w.id offset 0
          ) e offset 0
        ) j ${judging(filter)}
        order by j.id desc`

      const judgePayload = (payload: string, filter: CompiledFilter) =>
        all(sql, Judged)`
        select null as id, e.failing from (select posthorn.judged(${payload}) as judged offset 0) j ${judging(filter)}`

      return { judge, judgePayload, newest } as const
    })
  }
) {}
