/**
 * Rolls up hours that are over (migrations/0008_statistics.sql). After each it rests four times as long as counting took;
 * `MOST_MS` bounds its time.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Context, Duration, Effect, Layer, Schema } from "effect"
import { Id } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"

const REST = 4
/** No hour is begun later. */
const MOST_MS = 30_000

export class HourlyRollups extends Context.Tag("@posthorn/persistence/operations/HourlyRollups")<
  HourlyRollups,
  {
    /** Gives their number. Safe from several workers at once. */
    readonly count: Effect.Effect<number, SqlError>
  }
>() {}

const Done = Schema.Struct({ counted: Schema.Boolean })

/** Times as PostgreSQL writes them, to the microsecond. */
const Wanted = Schema.Struct({ workspace: Id("workspace"), hour: Schema.String })
type Wanted = typeof Wanted.Type

const Over = Schema.Struct({ over: Schema.NullOr(Schema.String) })

export const layer: Layer.Layer<HourlyRollups, never, SqlClient.SqlClient> = Layer.effect(
  HourlyRollups,
  Effect.map(SqlClient.SqlClient, (sql) => {
    const one = ({ hour, workspace }: Wanted) =>
      rows(sql, Done)`select posthorn.roll_up_hour(${workspace}, ${hour}::timestamptz) as counted`.pipe(
        Effect.timed,
        Effect.flatMap(([took, [row]]) =>
          Effect.delay(Effect.succeed(row!.counted ? 1 : 0), Duration.times(took, REST))
        )
      )
    const wanted = (over: string) =>
      rows(
        sql,
        Wanted
      )`select workspace_id as workspace, hour::text from posthorn.hours_to_roll_up(${over}::timestamptz)`
    const round = (over: string, ends: number) =>
      Effect.gen(function* () {
        let counted = 0
        for (const hour of yield* wanted(over)) {
          if ((yield* elapsedNow) >= ends) break
          counted += yield* one(hour)
        }
        return counted
      })
    const count = Effect.gen(function* () {
      const [row] = yield* rows(sql, Over)`select posthorn.hours_over()::text as over`
      const over = row!.over
      if (over === null) return 0
      yield* sql`select posthorn.remove_old_rollups()`
      const ends = (yield* elapsedNow) + MOST_MS
      let total = 0
      for (let last = 1; last > 0 && (yield* elapsedNow) < ends; total += last) {
        last = yield* round(over, ends)
      }
      return total
    })
    return { count }
  })
)
