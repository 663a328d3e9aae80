/**
 * Counts used quotas until its scope ends (migrations/0010_quotas.sql): one process at a time, a tenth of the time, a second
 * apart. Source: spec §5.2.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Limits } from "@posthorn/domain/Limits"
import { Duration, Effect, Schedule, type Scope } from "effect"

const LEAST = Duration.seconds(1)
const PARTS = 10

export const writeQuotas = ({ bytes, waiting }: Pick<Limits, "bytes" | "waiting">) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update posthorn.installation set waiting = ${waiting}, bytes = ${bytes}
      where waiting is distinct from ${waiting}::bigint or bytes is distinct from ${bytes}::bigint`
  )

export const checkQuotas = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select posthorn.check_quotas()`)

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
