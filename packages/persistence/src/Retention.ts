/**
 * Removing old history, pass by pass: migrations/0005_retention.sql. Source: spec §8, decision §7 (Retention).
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Context, Duration, Effect, Layer, Schema } from "effect"
import { Count, Counted, Id } from "./internal/Columns.ts"
import { rows } from "./Rows.ts"

/** How long deliveries and events are kept. Source: spec §8. */
export class HistoryKept extends Context.Reference<HistoryKept>()("@posthorn/persistence/HistoryKept", {
  defaultValue: () => Duration.days(30)
}) {}

/** Idempotency keys, and the answers that are given again. */
export const KEYS_KEPT = "24 hours"
/** Answers to a call with an idempotency key that hold a secret. Source: decision §10. */
export const SEALED_KEPT = "10 minutes"
/** Rows that one pass may remove. Source: spec §8. */
export const PASS = 100

export interface Removed {
  readonly deliveries: number
  readonly events: number
  readonly idempotencyKeys: number
}

export class Retention extends Context.Tag("@posthorn/persistence/Retention")<
  Retention,
  {
    /** One whole run if nobody has begun today's; null otherwise. */
    readonly daily: Effect.Effect<Removed | null, SqlError>
    /** One whole run, whatever was done before. */
    readonly run: Effect.Effect<Removed, SqlError>
    /** Erases the secrets in answers that are kept under idempotency keys, once they are not given again. */
    readonly erase: Effect.Effect<number, SqlError>
  }
>() {}

const JOB = "retention"

/** `past`: the id at which the pass stopped. */
const DeliveryPass = Schema.Struct({ past: Schema.String, removed: Count })

const EventPass = Schema.Struct({ past: Schema.String, looked: Count, removed: Count })

const ToTidy = Schema.Struct({ id: Id("workspace") })

const Begun = Schema.Struct({ ours: Schema.Boolean })

/** Repeats a pass until it finds fewer than it may take. */
const passes = (pass: Effect.Effect<number, SqlError>): Effect.Effect<number, SqlError> =>
  Effect.iterate(
    { total: 0, last: PASS },
    {
      while: ({ last }) => last >= PASS,
      body: ({ total }) => Effect.map(pass, (last) => ({ total: total + last, last }))
    }
  ).pipe(Effect.map(({ total }) => total))

const removeDeliveries = (sql: SqlClient.SqlClient, kept: string, workspace: string) => {
  let past = ""
  const pass = Effect.suspend(
    () => rows(sql, DeliveryPass)`select past_id as past, removed
      from posthorn.remove_old_deliveries(${workspace}, ${kept}::interval, ${PASS}, ${past})`
  )
  return passes(
    Effect.map(pass, ([row]) => {
      past = row!.past
      return row!.removed
    })
  )
}

/** Until a pass has looked at fewer than it may: some stay, for the deliveries that refer to them. */
const removeEvents = (sql: SqlClient.SqlClient, kept: string, workspace: string) =>
  Effect.iterate(
    { total: 0, past: "", looked: PASS },
    {
      while: ({ looked }) => looked >= PASS,
      body: ({ past, total }) =>
        Effect.map(
          rows(sql, EventPass)`select past_id as past, looked, removed
            from posthorn.remove_old_events(${workspace}, ${kept}::interval, ${PASS}, ${past})`,
          ([row]) => ({ ...row!, total: total + row!.removed })
        )
    }
  ).pipe(Effect.map(({ total }) => total))

const number = ([counted]: ReadonlyArray<typeof Counted.Type>) => counted!.n

export const layer: Layer.Layer<Retention, never, SqlClient.SqlClient> = Layer.effect(
  Retention,
  Effect.map(Effect.all([SqlClient.SqlClient, HistoryKept]), ([sql, history]) => {
    const kept = `${Duration.toSeconds(history)} seconds`
    const removeAnswers = (workspace: string | null) =>
      passes(
        Effect.map(
          rows(
            sql,
            Counted
          )`select posthorn.remove_old_answers(${workspace}, ${KEYS_KEPT}::interval, ${PASS}) as n`,
          number
        )
      )

    const tidy = (workspace: string): Effect.Effect<Removed, SqlError> =>
      Effect.all({
        deliveries: removeDeliveries(sql, kept, workspace),
        events: removeEvents(sql, kept, workspace),
        idempotencyKeys: Effect.zipWith(
          passes(
            Effect.map(
              rows(
                sql,
                Counted
              )`select posthorn.remove_old_keys(${workspace}, ${KEYS_KEPT}::interval, ${PASS}) as n`,
              number
            )
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
      number
    )
    return { daily, erase, run }
  })
)
