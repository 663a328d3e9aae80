/**
 * Evidence about one endpoint for a diagnosis: a few bounded statements, 10 ms with 100,000 deliveries.
 *
 * It reads the newest 500 deliveries, and 500 before the oldest that waits for its first attempt. Counts stop at 1,000, that of
 * lost events at 10,000.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import { DeliveryPolicy, RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { Recorded } from "@posthorn/domain/diagnosis/Recorded"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Via, type Within } from "@posthorn/domain/Principal"
import { DisabledReason } from "@posthorn/domain/States"
import { AttemptStatus, FailureDetail, FailureReason } from "@posthorn/domain/Verdict"
import { Effect, Schema } from "effect"
import { Bytes, Count, Counted, columnsOf, Id, Texts, Time } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"
import { ofEndpoints } from "../client/Within.ts"
import { TYPES_WITHIN } from "./EventsRepo.ts"

const DELIVERIES = 500
const ATTEMPTS = 100
const CHANGES = 50
const TYPES = 100
const COUNTED = 1_000
const LOST = 10_000
/** An attempt dated this long before its delivery, or after now, was signed with a wrong clock. */
const CLOCK_OFF = "240 seconds"
/** Names of members in answers that are too common to mean anything. */
const NAMES_TIMESTAMP = 'timestamp(?!"\\s*:)'

/** What is recorded, and what its caller has yet to judge. */
export type Gathered = Recorded & {
  readonly endpoint: {
    /** The client certificate of its request, as PEM. */
    readonly certificate: string | null
    readonly filter: string | null
    readonly secret: Uint8Array
  }
}

const EndpointFacts = Schema.Struct({
  id: Id("endpoint"),
  url: Schema.String,
  enabled: Schema.Boolean,
  disabledReason: Schema.NullOr(DisabledReason),
  disabledAt: Schema.NullOr(Time),
  createdAt: Time,
  consecutiveFailures: Count,
  eventTypes: Texts,
  secret: Bytes,
  certificate: Schema.NullOr(Schema.String),
  filter: Schema.NullOr(Schema.String),
  policy: Schema.NullOr(DeliveryPolicy),
  workspacePolicy: Schema.NullOr(DeliveryPolicy),
  now: Time
})

const SeenAttempt = Schema.Struct({
  deliveryId: Id("delivery"),
  eventType: Schema.String,
  at: Time,
  status: AttemptStatus,
  durationMs: Count,
  httpStatus: Schema.NullOr(Count),
  failureReason: Schema.NullOr(FailureReason),
  failureDetail: Schema.NullOr(FailureDetail),
  url: Schema.String,
  location: Schema.NullOr(Schema.String),
  retryAfter: Schema.NullOr(Schema.String),
  timestampOff: Schema.Boolean
})

const SeenChange = Schema.Struct({
  auditEventId: Id("audit"),
  action: Schema.String,
  fields: Texts,
  at: Time,
  via: Via
})

const Waiting = Schema.Struct({ count: Count, oldestDueAt: Schema.NullOr(Time) })

const Backlog = Schema.Struct({
  rate: RateLimit,
  due: Count,
  more: Schema.Boolean,
  emptyAt: Time
})

const Losses = Schema.Struct({
  stopped: Count,
  stoppedSince: Schema.NullOr(Time),
  newestId: Schema.NullOr(Id("delivery")),
  neverSent: Count,
  moreStopped: Schema.Boolean,
  recovered: Count,
  missed: Count,
  missedSince: Schema.NullOr(Time),
  moreMissed: Schema.Boolean
})

const SeenType = Schema.Struct({ eventType: Schema.String })

export class EvidenceRepo extends Effect.Service<EvidenceRepo>()(
  "@posthorn/persistence/repositories/EvidenceRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const endpointFacts = sql.literal(
        columnsOf(EndpointFacts, "", {
          now: "clock_timestamp()",
          filter: "filter::text",
          certificate: "request -> 'authentication' ->> 'certificate'",
          workspacePolicy: "(select w.policy from posthorn.workspaces w where w.id = workspace_id)"
        })
      )
      const losses = sql.literal(columnsOf(Losses))

      const endpointOf = (caller: Within, endpointId: EndpointId) =>
        rows(sql, EndpointFacts)`
        select ${endpointFacts}
        from posthorn.endpoints
        where workspace_id = ${caller.workspaceId} and id = ${endpointId} ${ofEndpoints(sql, caller, "id")}`

      const recent = (workspaceId: WorkspaceId, endpointId: EndpointId) => sql`
      with oldest as materialized (
        select q.delivery_id from (
          select delivery_id, attempts from posthorn.queue where workspace_id = ${workspaceId} and endpoint_id = ${endpointId}
          order by due_at, delivery_id limit ${COUNTED}
        ) q where q.attempts = 0 order by q.delivery_id limit 1
      )
      select d.id, d.event_type, d.attempts, d.created_at from unnest(array['whd_g', (select delivery_id from oldest)]) as before
      cross join lateral posthorn.newest_deliveries(${workspaceId}, ${endpointId}, before, ${DELIVERIES}) d
      group by 1, 2, 3, 4`

      const attemptsOf = (workspaceId: WorkspaceId, endpointId: EndpointId) =>
        rows(sql, SeenAttempt)`
        select a.delivery_id as "deliveryId", r.event_type as "eventType", a.at, a.status, a.duration_ms as "durationMs",
          a.http_status as "httpStatus", a.failure_reason as "failureReason",
          a.failure_detail as "failureDetail", a.url,
          a.response_headers::json ->> 'location' as location, a.response_headers::json ->> 'retry-after' as "retryAfter",
          a.at > clock_timestamp() + ${CLOCK_OFF}::interval or a.at < r.created_at - ${CLOCK_OFF}::interval
            or coalesce(a.response_body ~* ${NAMES_TIMESTAMP}, false) as "timestampOff"
        from (${recent(workspaceId, endpointId)}) r
        join posthorn.attempts a on a.workspace_id = ${workspaceId} and a.delivery_id = r.id
        where r.attempts > 0
        order by a.at desc, a.delivery_id desc, a.ordinal desc limit ${ATTEMPTS + 1}`

      const changesOf = (workspaceId: WorkspaceId, endpointId: EndpointId) =>
        rows(sql, SeenChange)`
        select id as "auditEventId", action, coalesce(changes -> 'fields', '[]'::json) as fields,
          created_at as at, via
        from posthorn.audit_events where workspace_id = ${workspaceId} and target_id = ${endpointId}
        order by created_at desc, id desc limit ${CHANGES + 1}`

      const waitingOf = (workspaceId: WorkspaceId, endpointId: EndpointId) =>
        rows(sql, Waiting)`
        select count(*)::integer as count, min(due_at) as "oldestDueAt"
        from (select due_at from posthorn.queue where workspace_id = ${workspaceId} and endpoint_id = ${endpointId}
              order by due_at, delivery_id limit ${COUNTED}) q`

      /**
       * With n due and a rate of r, the last one takes the permit of attempt ((n - 1) mod r) after the oldest of the last r.
       */
      const backlogOf = (workspaceId: WorkspaceId, endpointId: EndpointId) =>
        rows(sql, Backlog)`
        with rate as materialized (
          select posthorn.rate_of(e.policy, w.policy) as rate
          from posthorn.endpoints e join posthorn.workspaces w on w.id = e.workspace_id
          where e.workspace_id = ${workspaceId} and e.id = ${endpointId}
        ), due as materialized (
          select count(*)::integer as n from (
            select from posthorn.queue where workspace_id = ${workspaceId} and endpoint_id = ${endpointId}
              and due_at <= clock_timestamp() limit ${LOST}
          ) q
        ), reckoned as materialized (
          select rate, n, (rate ->> 'requests')::integer as requests, (rate ->> 'perSeconds')::integer * interval '1 second' as width
          from rate, due where rate is not null and n > 0
        )
        select rate, n as due, n = ${LOST} as more, (coalesce(greatest(last.at + width, clock_timestamp()), clock_timestamp())
          + (n - 1) / requests * width)::timestamptz(3) as "emptyAt"
        from reckoned left join lateral (
          select b.at from posthorn.attempt_starts b where b.workspace_id = ${workspaceId} and b.endpoint_id = ${endpointId}
          order by b.at desc, b.id desc offset requests - 1 - (n - 1) % requests limit 1
        ) last on true
        where posthorn.next_start(${workspaceId}, ${endpointId}) is not null`

      const seenOf = (workspaceId: WorkspaceId, endpointId: EndpointId) =>
        rows(sql, Counted)`
        select count(*)::integer as n from (${recent(workspaceId, endpointId)}) r`

      const lossesOf = (workspaceId: WorkspaceId, endpointId: EndpointId) =>
        rows(sql, Losses)`
        select ${losses} from posthorn.losses(${workspaceId}, ${endpointId}, ${LOST})`

      /** A limited caller's are those that one of its endpoints wants. */
      const typesOf = (caller: Within) =>
        rows(sql, SeenType)`
        select event_type as "eventType" from posthorn.types_past(${caller.workspaceId}, '')
        where id >= posthorn.id_at('evt_', now() - ${TYPES_WITHIN}::interval)
          ${
            caller.endpointIds === null
              ? sql``
              : sql`and exists (select from posthorn.endpoints n where n.workspace_id = ${caller.workspaceId}
                  ${ofEndpoints(sql, caller, "n.id")} and n.event_types && posthorn.patterns_of(event_type))`
          } limit ${TYPES}`

      const gather = (caller: Within, endpointId: EndpointId): Effect.Effect<Gathered | undefined> =>
        Effect.gen(function* () {
          const { workspaceId } = caller
          const [found] = yield* endpointOf(caller, endpointId)
          if (found === undefined) return undefined
          const { now, ...endpoint } = found
          const attempts = yield* attemptsOf(workspaceId, endpointId)
          const changes = yield* changesOf(workspaceId, endpointId)
          const types = yield* typesOf(caller)
          const [waiting] = yield* waitingOf(workspaceId, endpointId)
          const [backlog = null] = yield* backlogOf(workspaceId, endpointId)
          const [recentOnes] = yield* seenOf(workspaceId, endpointId)
          const [lost] = yield* lossesOf(workspaceId, endpointId)
          const {
            missed,
            missedSince,
            moreMissed,
            moreStopped,
            neverSent,
            newestId,
            recovered,
            stopped,
            stoppedSince
          } = lost!
          return {
            now,
            endpoint,
            attempts: attempts.slice(0, ATTEMPTS),
            olderAttempts: attempts.length > ATTEMPTS || recentOnes!.n >= DELIVERIES,
            changes: changes.slice(0, CHANGES),
            olderChanges: changes.length > CHANGES,
            published: types.map(({ eventType }) => eventType),
            waiting: waiting!,
            backlog,
            stopped: {
              count: stopped,
              more: moreStopped,
              since: stoppedSince,
              newestId,
              neverSent,
              recovered
            },
            missedEvents: { count: missed, more: moreMissed, since: missedSince }
          }
        }).pipe(Effect.orDie)

      return { gather } as const
    })
  }
) {}
