/**
 * Has used-up quotas counted for as long as its scope lives: migrations/0010_quotas.sql. Any number of processes may do so; one
 * counts at a time. Counting takes a tenth of the time at most, and begins a second after the last count at the earliest.
 * Source: spec §5.2.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Limits } from "@posthorn/domain/Limits"
import { Duration, Effect, Schedule, type Scope } from "effect"

const LEAST = Duration.seconds(1)
const PARTS = 10

/** The installation's quotas, where publishers in SQL find them. */
export const writeQuotas = ({ bytes, waiting }: Pick<Limits, "bytes" | "waiting">) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update posthorn.default_quotas set waiting = ${waiting}, bytes = ${bytes}
      where waiting is distinct from ${waiting}::bigint or bytes is distinct from ${bytes}::bigint`
  )

export const checkQuotas = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select posthorn.check_quotas()`)

/** While the database is away, nothing is counted. */
export const keepQuotas = (
  limits: Pick<Limits, "bytes" | "waiting">
): Effect.Effect<void, never, SqlClient.SqlClient | Scope.Scope> =>
  Effect.zipRight(writeQuotas(limits), checkQuotas).pipe(
    Effect.timed,
    Effect.map(([took]) => Duration.max(LEAST, Duration.times(took, PARTS - 1))),
    Effect.orElseSucceed(() => LEAST),
    Effect.withTracerEnabled(false),
    Effect.repeat(Schedule.identity<Duration.Duration>().pipe(Schedule.addDelay((pause) => pause))),
    Effect.forkScoped,
    Effect.asVoid
  )
