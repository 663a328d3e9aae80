/**
 * Meters of the whole installation: what waits, for which workspaces, and since when.
 *
 * Counting a million waiting deliveries takes 0.6 s, so a count is shown for a hundred times its duration, and for at least
 * `FRESH_MS`: one percent of a core. It runs in the background; a caller waits at most `PATIENCE`. A number that cannot be
 * counted keeps its last value; `counted_timestamp` says how old it is.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { PROBES_AFTER } from "@posthorn/domain/Probing"
import { collecting } from "@posthorn/telemetry/Collectors"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { gauge } from "@posthorn/telemetry/Meters"
import { Clock, Effect, Fiber, Schema, type Scope } from "effect"
import type { DatabaseClock } from "../client/DatabaseClock.ts"
import { Count } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"
import { writeProbe } from "./WriteProbe.ts"

const FRESH_MS = 10_000
const MOST_SHARE = 0.01
const TIMEOUT = "30 seconds"
const PATIENCE = "2 seconds"

const deliveries = gauge(
  "posthorn_queue_deliveries",
  "Deliveries of the whole installation that wait: due now, due while their endpoint is probed, later (a retry), or for an endpoint that is disabled. Those that wait for a rate are counted by themselves. Every process tells the same: aggregate with max.",
  "state"
)
const oldest = gauge(
  "posthorn_queue_oldest_seconds",
  "How long the oldest waiting delivery has been due, in seconds: of enabled endpoints, of those that are probed, and of disabled ones. 0 when none waits.",
  "state"
)
const limited = gauge(
  "posthorn_rate_limited_deliveries",
  "Due deliveries of the whole installation that wait for the rate of their endpoint. Every process tells the same: aggregate with max."
)
const oldestLimited = gauge(
  "posthorn_rate_limited_oldest_seconds",
  "How long the oldest of them has been due, in seconds. 0 when none waits."
)
const endpoints = gauge(
  "posthorn_endpoints",
  "Endpoints of the whole installation. Every process tells the same: aggregate with max.",
  "state"
)
const replayJobs = gauge(
  "posthorn_replay_jobs_running",
  "Replay jobs of the whole installation that are not over."
)
const counted = gauge(
  "posthorn_queue_counted_timestamp_seconds",
  "When this process last counted what waits, in seconds since 1970."
)
const up = gauge("posthorn_database_up", "1 while the database takes what this process writes, else 0.")

const Standing = Schema.Struct({
  due: Count,
  probing: Count,
  later: Count,
  atDisabled: Count,
  limited: Count,
  oldestDue: Schema.NonNegative,
  oldestProbing: Schema.NonNegative,
  oldestAtDisabled: Schema.NonNegative,
  oldestLimited: Schema.NonNegative,
  enabled: Count,
  disabledManually: Count,
  disabledByFailures: Count,
  disabledByTime: Count,
  disabledByGone: Count,
  replayJobs: Count
})
type Standing = typeof Standing.Type

const count = (sql: SqlClient.SqlClient) =>
  rows(sql, Standing)`
    with waiting as materialized (
      select workspace_id, endpoint_id, count(*) as rows, count(*) filter (where due_at <= now()) as due,
        greatest(0, extract(epoch from now() - min(due_at)))::float8 as oldest
      from posthorn.queue group by 1, 2
    ), standing as (
      select e.enabled, e.disabled_reason, e.enabled and e.consecutive_failures >= ${PROBES_AFTER} as probing,
        e.enabled and e.consecutive_failures < ${PROBES_AFTER} and w.due > 0
          and posthorn.next_start(e.workspace_id, e.id) is not null as limited,
        coalesce(w.rows, 0) as rows, coalesce(w.due, 0) as due, coalesce(w.oldest, 0) as oldest
      from posthorn.endpoints e left join waiting w on w.workspace_id = e.workspace_id and w.endpoint_id = e.id
    )
    select coalesce(sum(due) filter (where enabled and not probing and not limited), 0)::float8 as due,
      coalesce(sum(due) filter (where limited), 0)::float8 as limited,
      coalesce(sum(due) filter (where probing), 0)::float8 as probing,
      coalesce(sum(rows - due) filter (where enabled), 0)::float8 as later,
      coalesce(sum(rows) filter (where not enabled), 0)::float8 as "atDisabled",
      coalesce(max(oldest) filter (where enabled and not probing and not limited), 0) as "oldestDue",
      coalesce(max(oldest) filter (where limited), 0) as "oldestLimited",
      coalesce(max(oldest) filter (where probing), 0) as "oldestProbing",
      coalesce(max(oldest) filter (where not enabled), 0) as "oldestAtDisabled",
      count(*) filter (where enabled) as enabled,
      count(*) filter (where disabled_reason = 'manual') as "disabledManually",
      count(*) filter (where disabled_reason = 'consecutive_failures') as "disabledByFailures",
      count(*) filter (where disabled_reason = 'failing_for') as "disabledByTime",
      count(*) filter (where disabled_reason = 'gone') as "disabledByGone",
      (select count(*) from posthorn.replays where state = 'running') as "replayJobs"
    from standing`

const show = (standing: Standing, atMs: number) => {
  deliveries.set(standing.due, "due")
  deliveries.set(standing.probing, "probing")
  deliveries.set(standing.later, "later")
  deliveries.set(standing.atDisabled, "endpoint_disabled")
  limited.set(standing.limited)
  oldestLimited.set(standing.oldestLimited)
  oldest.set(standing.oldestDue, "due")
  oldest.set(standing.oldestProbing, "probing")
  oldest.set(standing.oldestAtDisabled, "endpoint_disabled")
  endpoints.set(standing.enabled, "enabled")
  endpoints.set(standing.disabledManually, "disabled_manual")
  endpoints.set(standing.disabledByFailures, "disabled_consecutive_failures")
  endpoints.set(standing.disabledByTime, "disabled_failing_for")
  endpoints.set(standing.disabledByGone, "disabled_gone")
  replayJobs.set(standing.replayJobs)
  counted.set(atMs / 1000)
}

export const queueGauges: Effect.Effect<
  void,
  never,
  DatabaseClock | PgClient | SqlClient.SqlClient | Scope.Scope
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const scope = yield* Effect.scope
  const notWriting = yield* writeProbe
  let running: Fiber.RuntimeFiber<void> | null = null
  let againAt = Number.NEGATIVE_INFINITY

  const look = Effect.gen(function* () {
    const began = yield* elapsedNow
    const outcome = yield* Effect.option(Effect.timeout(count(sql), TIMEOUT))
    const ended = yield* elapsedNow
    againAt = ended + Math.max(FRESH_MS, (ended - began) / MOST_SHARE)
    if (outcome._tag === "Some") show(outcome.value[0]!, yield* Clock.currentTimeMillis)
    else againAt = Math.min(againAt, ended + 6 * FRESH_MS)
  }).pipe(Effect.withTracerEnabled(false), Effect.ensuring(Effect.sync(() => (running = null))))

  const collect = Effect.gen(function* () {
    up.set((yield* notWriting) === null ? 1 : 0)
    if (running === null && (yield* elapsedNow) >= againAt) running = yield* Effect.forkIn(look, scope)
    if (running !== null) yield* Effect.timeoutOption(Fiber.await(running), PATIENCE)
  })
  yield* collecting(collect)
})
