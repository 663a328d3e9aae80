/** The state machine from end to end: `serve` and `work` as processes, over REST and HTTP, with a short retry delay. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import { Setting } from "../Setting.ts"
import { startApi } from "./ServeProcess.ts"
import { idOf, lawsHold, shared, tally, within } from "./Story.ts"

const DELAY_MS = 100
const ENVIRONMENT = { DELIVERY_RETRY_DELAY: `${DELAY_MS} millis` }

/** Each change of a delivery, in order. */
const keepHistory = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`
    create table public.history (id text, attempts integer, status text, next_attempt_at timestamptz, seen timestamptz);
    create function public.keep() returns trigger language plpgsql as $$
    begin
      insert into public.history values (new.id, new.attempts, new.status, new.next_attempt_at, clock_timestamp());
      return null;
    end $$;
    create trigger keep after update on posthorn.deliveries for each row execute function public.keep()`)
)

/** In milliseconds: when each failure was recorded, computed from its planned retry, and the bounds for that. */
const planned = (id: string) =>
  rows<{ k: number; recorded: number; after: number; before: number; next: number }>`
      select h.attempts as k,
        extract(epoch from h.next_attempt_at)::float8 * 1000 - least(h.attempts, 6) * ${DELAY_MS}::float8 as recorded,
        extract(epoch from a.at)::float8 * 1000 + a.duration_ms as after,
        extract(epoch from h.seen)::float8 * 1000 as before,
        extract(epoch from b.at)::float8 * 1000 - extract(epoch from h.next_attempt_at)::float8 * 1000 as next
      from public.history h
      join posthorn.attempts a on a.delivery_id = h.id and a.ordinal = h.attempts
      join posthorn.attempts b on b.delivery_id = h.id and b.ordinal = h.attempts + 1
      where h.id = ${id} and h.status = 'failed' order by 1`

it.scopedLive(
  "§3.1 makes all seven attempts, plans each retry from when the failure was recorded, then dead-letters once",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* keepHistory
      const receiver = yield* makeReceiver()
      const api = yield* startApi("acme", ENVIRONMENT)
      yield* startWorker(ENVIRONMENT)
      const { body: endpoint } = yield* api("POST", "/webhooks", {
        url: receiver.url("/status/503"),
        eventTypes: ["*"]
      })
      const { body: event } = yield* api("POST", "/events", {
        eventType: "invoice.paid",
        payload: { total: 3 }
      })
      const [id] = event.deliveryIds

      yield* within(25, tally, (seen) => seen.dead_lettered === 1)

      const steps = yield* planned(id!)
      expect(steps.map(({ k }) => k)).toEqual([1, 2, 3, 4, 5, 6])
      for (const { after, before, next, recorded } of steps) {
        // `at` and the duration are each rounded to milliseconds.
        expect(recorded).toBeGreaterThanOrEqual(after - 2)
        expect(recorded).toBeLessThanOrEqual(before)
        expect(next).toBeGreaterThanOrEqual(-2)
      }
      expect(receiver.received.map(idOf)).toEqual(Array.from({ length: 7 }, () => id))
      expect((yield* api("GET", `/webhooks/${endpoint.id}`)).body).toMatchObject({
        enabled: true,
        consecutiveFailures: 7
      })
      expect(yield* sql`select kind, delivery_id from posthorn.notifications`).toEqual([
        { kind: "delivery_dead_lettered", delivery_id: id }
      ])

      const replay = yield* api("POST", `/webhooks/deliveries/${id}/replay`)
      expect(replay.body).toMatchObject({ status: "pending", attempts: 0, replayedFrom: id })
      yield* receiver.waitFor(8)
      expect(idOf(receiver.received[7]!)).toBe(replay.body.id)
      yield* within(25, tally, (seen) => seen.dead_lettered === 2)
      expect((yield* api("GET", `/webhooks/${endpoint.id}`)).body).toMatchObject({ consecutiveFailures: 14 })
      yield* lawsHold
    }).pipe(Effect.provide(Setting))
)

it.scopedLive(
  "§3.2 counts 404 as a failure, disables at 20, starts nothing while disabled, and continues once enabled",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const api = yield* startApi("acme", ENVIRONMENT)
      const worker = { ...ENVIRONMENT, WORKER_ENDPOINT_CONCURRENCY: "1" }
      const { body: endpoint } = yield* api("POST", "/webhooks", {
        url: receiver.url("/status/404"),
        eventTypes: ["*"]
      })
      const path = `/webhooks/${endpoint.id}`
      yield* Effect.replicateEffect(api("POST", "/events", { eventType: "a.b", payload: 1 }), 25)
      yield* startWorker(worker)

      yield* within(25, api("GET", path), ({ body }) => !body.enabled)
      expect(yield* tally).toEqual({ failed_permanent: 20, pending: 5 })
      expect((yield* api("POST", `${path}/test-event`)).status).toBe(409)
      expect((yield* api("POST", "/events", { eventType: "a.b", payload: 1 })).body.deliveryIds).toEqual([])
      // Another worker reads everything that is due from the beginning, and changes nothing.
      yield* startWorker(worker)
      yield* shared(25, 16, 16)
      expect(receiver.received).toHaveLength(20)

      yield* api("PATCH", path, { url: receiver.url("/ok"), enabled: true })
      yield* within(25, tally, (seen) => seen.delivered === 5)
      expect((yield* api("GET", path)).body).toMatchObject({ enabled: true, consecutiveFailures: 0 })
      expect(receiver.received).toHaveLength(25)
      expect(
        yield* sql`select count(*) as n from posthorn.audit_events
        where action = 'webhook.endpoint_auto_disabled'`
      ).toEqual([{ n: 1 }])
      yield* lawsHold
    }).pipe(Effect.provide(Setting))
)
