/**
 * What lists cost a caller that is limited to endpoints, in a workspace where others have the most of everything, and that pages which end
 * early leave nothing out. Costs are measured in rows read.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import type { Page } from "@posthorn/domain/Page"
import { byId, byTime, type Order, positionIn } from "@posthorn/domain/Page"
import type { Within } from "@posthorn/domain/Principal"
import { endpoint, readRows, workspace } from "@posthorn/testkit/Seeds"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Layer, Option } from "effect"
import { AuditEventsRepo } from "../../src/repositories/AuditEventsRepo.ts"
import { DeliveriesRepo } from "../../src/repositories/DeliveriesRepo.ts"
import { EndpointsRepo } from "../../src/repositories/EndpointsRepo.ts"
import { EventsRepo } from "../../src/repositories/EventsRepo.ts"
import { NotificationsRepo } from "../../src/repositories/NotificationsRepo.ts"
import { ReplaysRepo } from "../../src/repositories/ReplaysRepo.ts"
import { StatisticsRepo } from "../../src/repositories/StatisticsRepo.ts"

const OTHERS = 15_000
const SCAN_LIMIT = 10_000
const LIMIT = 200
const TABLES = ["events", "deliveries", "notifications", "replays", "audit_events", "queue", "endpoints"]

/** Three endpoints of the caller: one with many deliveries, two with few that are older; and another with the most. */
const made = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { id: workspaceId } = yield* workspace()
  const ids = yield* Effect.replicateEffect(endpoint(workspaceId), 4)
  const [other, many, few, rare] = ids as [string, string, string, string]
  yield* sql`update posthorn.endpoints set event_types = '{rare.type}' where workspace_id = ${workspaceId} and id <> ${other}`
  const fill = (endpointId: string, rows: number, hoursAgo: number, eventType: string) => sql`
    with made as materialized (
      select n, now() - make_interval(hours => ${hoursAgo}::integer) + n * interval '10 milliseconds' as at
      from generate_series(1, ${rows}::integer) n
    ), events as (
      insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, created_at)
      select ${workspaceId}, posthorn.id_at('evt_', at) || lpad(n::text, 16, '0'), ${eventType}, '{"n":1}', 't', 1, 0, 'system sql x', at from made
    ), notices as (
      insert into posthorn.notifications (workspace_id, kind, message, endpoint_id, created_at)
      select ${workspaceId}, 'endpoint_disabled', 'm', ${endpointId}, at from made
    ), jobs as (
      insert into posthorn.replays (workspace_id, id, endpoint_id, shard, statuses, since, include_missed, include_recovered, include_tests,
        matched, missed, recovered, under_way, tests, state, finished_at, actor_type, actor_id, via, trace_id, created_at)
      select ${workspaceId}, posthorn.new_id('rpl_'), ${endpointId}, 0, '{failed}', at, false, false, false, 0, 0, 0, 0, 0, 'done', at,
        'operator', 'operator', 'rest', 't', at from made
    ), audited as (
      insert into posthorn.audit_events (workspace_id, action, actor_type, actor_id, via, target_type, target_id, trace_id, created_at)
      select ${workspaceId}, 'webhook.endpoint_updated', 'operator', 'operator', 'rest', 'webhook_endpoint', ${endpointId}, 't', at from made
    )
    insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, status, attempts, created_at)
    select ${workspaceId}, posthorn.id_at('whd_', at) || lpad(n::text, 16, '0'), ${endpointId},
      posthorn.id_at('evt_', at) || lpad(n::text, 16, '0'), ${eventType}, 't',
      case when n % 100 = 0 then 'dead_lettered' else 'delivered' end, 1, at from made`
  yield* fill(rare, 120, 20, "rare.type")
  yield* fill(few, 120, 15, "old.type")
  yield* fill(many, 4_000, 10, "rare.type")
  yield* fill(other, OTHERS, 5, "common.type")
  return { caller: { workspaceId, endpointIds: [many, few, rare] } as Within, workspaceId, other }
}).pipe(Effect.orDie)

const services = Layer.mergeAll(
  AuditEventsRepo.Default,
  DeliveriesRepo.Default,
  EndpointsRepo.Default,
  EventsRepo.Default,
  NotificationsRepo.Default,
  ReplaysRepo.Default,
  StatisticsRepo.Default
).pipe(Layer.provideMerge(TestPg))

layer(services, { excludeTestServices: true })("a caller that is limited to endpoints", (it) => {
  /** How many rows an answer read in all, and it. */
  const counted = <A, E, R>(ask: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const rows = Effect.map(
        sql.unsafe<{ n: number }>(TABLES.map((table) => `(${readRows(table)})`).join(" union all ")),
        (found) => found.reduce((sum, { n }) => sum + n, 0)
      )
      return yield* sql.withTransaction(
        Effect.gen(function* () {
          const before = yield* rows
          const answer = yield* ask
          return { answer, read: (yield* rows) - before }
        })
      )
    })

  /** Every item of a list, and the most rows that a page read. */
  const all = <A extends { readonly id: string }, P, E, R>(
    order: Order<never, P>,
    read: (from: Option.Option<P>) => Effect.Effect<Page<A>, E, R>
  ) =>
    Effect.gen(function* () {
      const ids: Array<string> = []
      let most = 0
      let cursor: string | undefined
      do {
        const from = Option.getOrThrow(positionIn(order, cursor))
        const { answer, read: rows } = yield* counted(read(from))
        ids.push(...answer.items.map(({ id }) => id))
        most = Math.max(most, rows)
        cursor = answer.nextCursor ?? undefined
      } while (cursor !== undefined)
      return { ids, most }
    })

  it.effect(
    "§8 lists read its endpoints' rows, or so many of the workspace's as a page may, and leave none out",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { caller, other, workspaceId } = yield* made
        const { list } = yield* DeliveriesRepo
        const events = yield* EventsRepo
        const audit = yield* AuditEventsRepo
        const notifications = yield* NotificationsRepo
        const replays = yield* ReplaysRepo
        const statistics = yield* StatisticsRepo
        const plain = (table: string, where: string) =>
          Effect.map(
            sql.unsafe<{ id: string }>(
              `select id from posthorn.${table} r where workspace_id = $1 and ${where} order by id desc`,
              [workspaceId]
            ),
            (found) => found.map(({ id }) => id)
          )
        const [own, dead] = [`endpoint_id <> '${other}'`, "status = 'dead_lettered'"]
        const wanted = `(event_type = 'rare.type' or exists (select from posthorn.deliveries d where d.workspace_id = r.workspace_id
        and d.event_id = r.id and ${own}))`
        const since = new Date(Date.now() - 18 * 3_600_000).toISOString()

        for (const analyzed of [false, true]) {
          if (analyzed) yield* sql.unsafe(`analyze ${TABLES.map((table) => `posthorn.${table}`).join(", ")}`)
          const deliveries = yield* all(byTime, (from) => list(caller, {}, LIMIT, from))
          expect(deliveries.ids).toEqual(yield* plain("deliveries", own))
          expect(deliveries.most).toBeLessThan(10 * LIMIT)

          const filtered = yield* all(byTime, (from) =>
            list(caller, { status: "dead_lettered" }, LIMIT, from)
          )
          expect(filtered.ids).toEqual(yield* plain("deliveries", `${own} and ${dead}`))
          expect(filtered.most).toBeLessThan(4 * SCAN_LIMIT)
          const later = yield* all(byTime, (from) =>
            list(caller, { status: "dead_lettered", since }, LIMIT, from)
          )
          expect(later.ids).toEqual(
            yield* plain("deliveries", `${own} and ${dead} and created_at >= '${since}'`)
          )

          const seen = yield* all(byId, (from) => events.list(caller, { omitPayload: true }, LIMIT, from))
          expect(seen.ids).toEqual(yield* plain("events", wanted))
          // Without statistics PostgreSQL sorts what it takes for a few rows.
          if (analyzed) expect(seen.most).toBeLessThan(4 * SCAN_LIMIT)

          const asked = [
            counted(notifications.list(caller, LIMIT, Option.none())),
            counted(replays.list(caller, LIMIT, Option.none()))
          ]
          for (const { answer, read } of yield* Effect.all(asked)) {
            expect(answer).toHaveLength(LIMIT + 1)
            expect(read).toBeLessThan(10 * LIMIT)
          }
          const audited = yield* counted(audit.list(caller, {}, LIMIT, Option.none()))
          expect([audited.answer.items.length, audited.answer.nextCursor === null]).toEqual([0, false])
          if (analyzed) expect(audited.read).toBeLessThan(4 * SCAN_LIMIT)
        }
        const { find, findDetail, lock, lockForUpdate, lockKeys, requestSecrets } = yield* EndpointsRepo
        for (const ask of [find, findDetail, lock, lockForUpdate, lockKeys, requestSecrets])
          expect((yield* ask(caller, other as never)) ?? null).toBeNull()
        const overview = yield* statistics.overview(caller)
        expect(overview).toMatchObject({ endpoints: 3, unreadNotifications: 4_240, apiTokens: 0 })
      }).pipe(Effect.orDie)
  )
})
