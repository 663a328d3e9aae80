/**
 * Counting hours that are over, for statistics: migrations/0008_statistics.sql. Bounded in its share of the database: after each
 * hour it rests four times as long as counting it took. Bounded in time, too, for whoever calls has more to do.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Clock, Context, Duration, Effect, Layer } from "effect"

const REST = 4
/** A round that has begun by then is finished: one new hour of each workspace. */
const MOST_MS = 30_000

export class HourCounts extends Context.Tag("@posthorn/persistence/HourCounts")<
  HourCounts,
  {
    /** Counts hours that can be counted now, for about half a minute; gives how many. Safe to call from several workers at once. */
    readonly count: Effect.Effect<number, SqlError>
  }
>() {}

export const layer: Layer.Layer<HourCounts, never, SqlClient.SqlClient> = Layer.effect(
  HourCounts,
  Effect.map(SqlClient.SqlClient, (sql) => {
    const one = (workspace: string, hour: string) =>
      sql<{
        counted: boolean
      }>`select posthorn.count_hour(${workspace}, ${hour}::timestamptz) as counted`.pipe(
        Effect.timed,
        Effect.flatMap(([took, [row]]) =>
          Effect.delay(Effect.succeed(row!.counted ? 1 : 0), Duration.times(took, REST))
        )
      )
    const round = (over: string) =>
      sql<{ workspace: string; hour: string }>`select workspace_id as workspace, hour::text
        from posthorn.hours_to_count(${over}::timestamptz)`.pipe(
        Effect.flatMap(Effect.forEach(({ hour, workspace }) => one(workspace, hour))),
        Effect.map((counts) => counts.reduce((sum, counted) => sum + counted, 0))
      )
    const count = Effect.gen(function* () {
      const [row] = yield* sql<{ over: string | null }>`select posthorn.hours_over()::text as over`
      const over = row!.over
      if (over === null) return 0
      yield* sql`select posthorn.remove_old_counts()`
      const ends = (yield* Clock.currentTimeMillis) + MOST_MS
      let total = 0
      for (let last = 1; last > 0 && (yield* Clock.currentTimeMillis) < ends; total += last) {
        last = yield* round(over)
      }
      return total
    })
    return { count }
  })
)
