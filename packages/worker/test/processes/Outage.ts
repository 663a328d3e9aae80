/**
 * A long outage of one endpoint in compressed time, and its consequences: deliveries that were given up, some that still
 * wait, missed events, and the endpoint disabled by its failures. It also reports what a killed worker left in flight, so
 * that a test can explain each repeated request.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Environment, Process } from "@posthorn/testkit/Command"
import type { Receiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import type { Api } from "./ServeProcess.ts"
import { idOf, within } from "./Story.ts"

/** Retry delays of 0.2 s, failing lanes with 100 slots, and calls without a limit. */
export const COMPRESSED: Environment = {
  DELIVERY_RETRY_DELAY: "10 millis",
  WORKER_ENDPOINT_CONCURRENCY: "100",
  RATE_LIMIT_REST_READ: "100000/60 seconds",
  RATE_LIMIT_REST_WRITE: "100000/60 seconds"
}

export interface Size {
  /** Deliveries that are given up. */
  readonly deadLettered: number
  /** Events that are published after the endpoint was finally disabled. */
  readonly missed: number
}

export interface Outage {
  readonly endpointId: string
  /** Before all of it. */
  readonly since: string
  /** The number of published events; their payloads are `{"n": 0}` and so on. */
  readonly events: number
}

/** More failures than disable an endpoint; the rest waits. */
const LAST = 40

/** An outage of an endpoint at `url`, which answers 503 throughout. */
export const suffer = (api: Api, url: string, eventType: string, { deadLettered, missed }: Size) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const since = new Date(Date.now() - 1_000).toISOString()
    const { body: endpoint } = yield* api("POST", "/webhooks", { url, eventTypes: [eventType] })
    const path = `/webhooks/${endpoint.id}`
    let events = 0
    const publish = (count: number) =>
      api("POST", "/events/batch", {
        events: Array.from({ length: count }, () => ({ eventType, payload: { n: events++ } }))
      })
    /** Enables the endpoint again whenever its failures have disabled it. */
    const given = Effect.gen(function* () {
      const [row] = yield* sql<{ up: number; enabled: boolean }>`
        select e.enabled, (select count(*)::integer from posthorn.failed_deliveries f
          where f.workspace_id = e.workspace_id and f.endpoint_id = e.id and f.status = 'dead_lettered') as up
        from posthorn.endpoints e where e.id = ${endpoint.id}`
      if (!row!.enabled) yield* api("PATCH", path, { enabled: true })
      return row!
    })

    yield* publish(deadLettered)
    yield* within(60, given, ({ enabled, up }) => enabled && up === deadLettered)
    yield* publish(LAST)
    yield* within(25, api("GET", path), ({ body }) => !body.enabled)
    yield* publish(missed)
    return { endpointId: endpoint.id, since, events } satisfies Outage
  })

const attemptsByDelivery = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ id: string; attempts: number }>`select id, attempts::integer as attempts from posthorn.deliveries`,
    (rows) => new Map(rows.map(({ attempts, id }) => [id, attempts]))
  )
)

export const requestsByDelivery = ({ received }: Receiver) => {
  const counts = new Map<string, number>()
  for (const request of received) counts.set(idOf(request), (counts.get(idOf(request)) ?? 0) + 1)
  return counts
}

const workersGone = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  within(
    10,
    sql`select pid from pg_stat_activity where datname = current_database()
      and application_name in ('posthorn work', 'posthorn shards')`,
    (rows) => rows.length === 0
  )
)

/**
 * Kills the only worker, and adds to `interrupted` what it had sent and not recorded: each of these is sent once more.
 * Exact, because by then its connections to the receiver and to the database have ended.
 */
export const killWorker = (worker: Process, receiver: Receiver, interrupted: Map<string, number>) =>
  Effect.gen(function* () {
    worker.signal("SIGKILL")
    yield* worker.ended
    yield* receiver.waitForConnections(0)
    yield* workersGone
    const attempts = yield* attemptsByDelivery
    for (const [id, requests] of requestsByDelivery(receiver)) {
      const before = interrupted.get(id) ?? 0
      if (requests - before > (attempts.get(id) ?? 0)) interrupted.set(id, before + 1)
    }
  })
