/**
 * Removes old history, pass by pass: migrations/0005_retention.sql. Source: spec §8 and §3.4 (Retention).
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Context, Duration, Effect, Layer, Schema } from "effect"
import { Count, Counted, Id } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"
import { KEYS_KEPT, SEALED_KEPT } from "../repositories/IdempotencyRepo.ts"

export class HistoryKept extends Context.Reference<HistoryKept>()("@posthorn/persistence/HistoryKept", {
  defaultValue: () => Duration.days(30)
}) {}

/** Rows that one pass may remove. Source: spec §8. */
const PASS = 100

/** A step removes deliveries of a deleted endpoint for this long, so many at a time. */
const STEP = "20 milliseconds"
const STEP_ROWS = 20
const STEP_PAUSE = Duration.millis(10)

export interface Removed {
  readonly deliveries: number
  readonly events: number
  readonly idempotencyKeys: number
}

export class Retention extends Context.Tag("@posthorn/persistence/operations/Retention")<
  Retention,
  {
    /** Null if somebody has begun today's. */
    readonly daily: Effect.Effect<Removed | null, SqlError>
    readonly run: Effect.Effect<Removed, SqlError>
    readonly erase: Effect.Effect<number, SqlError>
    /** Gives the number of steps. */
    readonly removeDeleted: Effect.Effect<number, SqlError>
    readonly forget: Effect.Effect<number, SqlError>
  }
>() {}

const JOB = "retention"

/** `past`: the id at which the pass stopped. */
const Pass = Schema.Struct({ past: Schema.String, scanned: Count, removed: Count })

const ToTidy = Schema.Struct({ id: Id("workspace") })

const Stepped = Schema.Struct({ more: Schema.Boolean })

const Begun = Schema.Struct({ ours: Schema.Boolean })

const passes = (pass: (past: string) => Effect.Effect<ReadonlyArray<typeof Pass.Type>, SqlError>) =>
  Effect.iterate(
    { total: 0, past: "", scanned: PASS },
    {
      while: ({ scanned }) => scanned >= PASS,
      body: ({ past, total }) =>
        Effect.map(pass(past), ([done]) => ({ ...done!, total: total + done!.removed }))
    }
  ).pipe(Effect.map(({ total }) => total))

export const layer: Layer.Layer<Retention, never, SqlClient.SqlClient> = Layer.effect(
  Retention,
  Effect.map(Effect.all([SqlClient.SqlClient, HistoryKept]), ([sql, history]) => {
    const kept = `${Duration.toSeconds(history)} seconds`
    const removeAnswers = (workspace: string | null) =>
      passes(
        () => rows(sql, Pass)`select '' as past, n as scanned, n as removed
          from posthorn.remove_old_answers(${workspace}, ${KEYS_KEPT}::interval, ${PASS}) as n`
      )

    const tidy = (workspace: string): Effect.Effect<Removed, SqlError> =>
      Effect.all({
        deliveries: Effect.zipWith(
          passes(
            (past) => rows(sql, Pass)`select past_id as past, scanned, removed
              from posthorn.remove_waiting(${workspace}, ${kept}::interval, ${PASS}, ${past})`
          ),
          passes(
            (past) => rows(sql, Pass)`select past_id as past, removed as scanned, removed
              from posthorn.remove_old_deliveries(${workspace}, ${kept}::interval, ${PASS}, ${past})`
          ),
          (waiting, others) => waiting + others
        ),
        events: passes(
          (past) => rows(sql, Pass)`select past_id as past, scanned, removed
            from posthorn.remove_old_events(${workspace}, ${kept}::interval, ${PASS}, ${past})`
        ),
        idempotencyKeys: Effect.zipWith(
          passes(
            () => rows(sql, Pass)`select '' as past, n as scanned, n as removed
              from posthorn.remove_old_keys(${workspace}, ${KEYS_KEPT}::interval, ${PASS}) as n`
          ),
          removeAnswers(workspace),
          (keys, answers) => keys + answers
        )
      })

    const run = rows(
      sql,
      ToTidy
    )`select posthorn.workspaces_to_tidy(${kept}::interval, ${KEYS_KEPT}::interval) as id`.pipe(
      Effect.flatMap(Effect.forEach(({ id }) => tidy(id))),
      Effect.zip(removeAnswers(null)),
      Effect.zipLeft(
        passes(
          () => rows(sql, Pass)`select '' as past, n as scanned, n as removed
            from posthorn.remove_old_deviations(${PASS}) as n`
        )
      ),
      Effect.zipLeft(
        passes(
          () => rows(sql, Pass)`select '' as past, n as scanned, n as removed
            from posthorn.remove_old_alerts(${kept}::interval, ${PASS}) as n`
        )
      ),
      Effect.map(([all, operators]) => ({
        deliveries: all.reduce((sum, one) => sum + one.deliveries, 0),
        events: all.reduce((sum, one) => sum + one.events, 0),
        idempotencyKeys: all.reduce((sum, one) => sum + one.idempotencyKeys, operators)
      }))
    )

    const daily = rows(sql, Begun)`select posthorn.begin_daily_run(${JOB}) as ours`.pipe(
      Effect.flatMap(([row]) =>
        row!.ours ? Effect.tap(run, () => sql`select posthorn.end_daily_run(${JOB})`) : Effect.succeed(null)
      )
    )
    const erase = Effect.map(
      rows(sql, Counted)`select posthorn.erase_sealed_answers(${SEALED_KEPT}::interval) as n`,
      ([erased]) => erased!.n
    )
    const forget = Effect.map(
      rows(sql, Counted)`select posthorn.forget_starts() as n`,
      ([forgotten]) => forgotten!.n
    )
    const step = rows(sql, Stepped)`select posthorn.remove_deleted(${STEP_ROWS}, ${STEP}::interval) as more`
    const removeDeleted = Effect.iterate(
      { steps: 0, more: true },
      {
        while: ({ more }) => more,
        body: ({ steps }) =>
          Effect.map(Effect.delay(step, STEP_PAUSE), ([row]) => ({ steps: steps + 1, more: row!.more }))
      }
    ).pipe(Effect.map(({ steps }) => steps - 1))
    return { daily, erase, forget, removeDeleted, run }
  })
)
