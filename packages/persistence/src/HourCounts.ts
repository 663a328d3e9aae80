/**
 * Counting hours that are over, for statistics: migrations/0008_statistics.sql. Bounded in its share of the database: after each
 * hour it rests four times as long as counting it took.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Context, Duration, Effect, Layer } from "effect"

const REST = 4

export class HourCounts extends Context.Tag("@posthorn/persistence/HourCounts")<
  HourCounts,
  {
    /** Counts all hours that can be counted now; gives how many. Safe to call from several workers at once. */
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
      return yield* Effect.iterate(
        { total: 0, last: 1 },
        {
          while: ({ last }) => last > 0,
          body: ({ total }) => Effect.map(round(over), (last) => ({ total: total + last, last }))
        }
      ).pipe(Effect.map(({ total }) => total))
    })
    return { count }
  })
)
