import * as SqlClient from "@effect/sql/SqlClient"
import { layer } from "@effect/vitest"
import * as Records from "@posthorn/persistence/engine/Records"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { makeAt, makeOlder } from "@posthorn/testkit/OldHistory"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Duration, Effect } from "effect"
import { expect } from "vitest"
import { deliveries, drained, endpoint, publish, queued, Setting, worker, workspace } from "../Setting.ts"

const retention = Effect.provide(
  Effect.flatMap(Retention.Retention, ({ run }) => run),
  Retention.layer
)

const daily = Effect.provide(
  Effect.flatMap(Retention.Retention, (one) => one.daily),
  Retention.layer
)

/** Makes everything in the workspace this much older. */
const age = (workspaceId: string, days: number) => makeOlder(workspaceId, Duration.days(days))

layer(Setting, { excludeTestServices: true })("retention", (it) => {
  it.scoped(
    "§8 removes what is older than 30 days, pass after pass, with its attempts, and nothing younger",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        const other = yield* workspace
        yield* endpoint(acme, receiver.url("/status/200"))
        yield* endpoint(other, receiver.url("/status/200"))
        yield* publish(acme, 250)
        yield* publish(other, 3)
        yield* worker()
        yield* drained(acme)
        yield* drained(other)
        yield* age(acme.id, 31)
        yield* age(other.id, 29)

        const removed = yield* retention

        expect(removed).toEqual({ deliveries: 250, events: 250, idempotencyKeys: 0 })
        expect(yield* deliveries(acme)).toEqual([])
        expect(yield* deliveries(other)).toHaveLength(3)
        expect(
          yield* sql`select count(*)::integer as n from posthorn.attempts where workspace_id = ${acme.id}`
        ).toEqual([{ n: 0 }])
        expect(yield* retention).toEqual({ deliveries: 0, events: 0, idempotencyKeys: 0 })
      })
  )

  it.scoped("§8 removes the history of a deleted endpoint in steps, of which nothing is sent meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const deleted = yield* endpoint(acme, receiver.url("/deleted"))
      yield* publish(acme, 1_700)
      yield* endpoint(acme, receiver.url("/kept"), "other.type")
      yield* sql`select posthorn.remove_endpoint(${acme.id}, ${deleted.id}, 1_200)`
      yield* worker()
      yield* publish(acme, 3, "other.type")
      yield* receiver.waitFor(3, "/kept")
      // Each 20 deliveries take longer than a step may: no step removes more.
      yield* sql`create function public.slow() returns trigger language plpgsql as $$
        begin perform pg_sleep(0.002); return old; end $$`
      yield* sql`create trigger slow before delete on posthorn.deliveries for each row execute function public.slow()`

      const steps = yield* Effect.provide(
        Effect.flatMap(Retention.Retention, ({ removeDeleted }) => removeDeleted),
        Retention.layer
      )

      expect(steps).toBe(500 / 20 + 1)
      yield* sql`drop trigger slow on posthorn.deliveries`
      yield* drained(acme)
      expect(yield* deliveries(acme)).toHaveLength(3)
      expect(receiver.receivedAt("/deleted")).toEqual([])
    })
  )

  it.scoped("§8 keeps history for as long as is set", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/status/200"))
      yield* publish(acme, 3)
      yield* worker()
      yield* drained(acme)
      yield* age(acme.id, 31)
      const keeping = (days: number) =>
        Effect.provideService(retention, Retention.HistoryKept, Duration.days(days))

      expect(yield* keeping(32)).toMatchObject({ deliveries: 0, events: 0 })
      expect(yield* keeping(30.5)).toMatchObject({ deliveries: 3, events: 3 })
    })
  )

  it.scoped("§8 never removes a delivery that still waits, and still finds those behind it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      yield* endpoint(acme, "https://hooks.example.com/")
      const ids = yield* publish(acme, 260)
      // The oldest hundred and twenty still wait; the others are done.
      const done = ids.slice(120)
      yield* sql`delete from posthorn.queue where workspace_id = ${acme.id} and delivery_id = any(${done}::text[])`
      yield* sql`update posthorn.deliveries set status = 'delivered' where id = any(${done}::text[])`
      yield* age(acme.id, 40)

      const removed = yield* retention

      expect(removed.deliveries).toBe(140)
      expect(yield* queued(acme)).toBe(120)
      expect((yield* deliveries(acme)).map(({ status }) => status)).toEqual(Array(120).fill("pending"))
    })
  )

  it.scoped("§3.1 never removes a dead letter before its workspace was notified", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const records = yield* Records.Records
      const acme = yield* workspace
      yield* endpoint(acme, "https://hooks.example.com/")
      const [id] = yield* publish(acme)
      // As its last attempt leaves it.
      yield* sql`delete from posthorn.queue where workspace_id = ${acme.id}`
      yield* sql`update posthorn.deliveries set status = 'failed' where id = ${id!}`
      yield* sql`insert into posthorn.dead_letters (workspace_id, delivery_id) values (${acme.id}, ${id!})`
      yield* age(acme.id, 31)
      const notices = sql`select delivery_id as id from posthorn.notifications
        where workspace_id = ${acme.id} and kind = 'delivery_dead_lettered'`

      expect(yield* retention).toMatchObject({ deliveries: 0 })
      yield* records.deadLetter(10)
      expect(yield* notices).toEqual((yield* deliveries(acme)).map(({ id }) => ({ id })))
      expect(yield* retention).toMatchObject({ deliveries: 1 })
    }).pipe(Effect.provide(Records.layer))
  )

  it.scoped("§3.4 keeps replayedFrom when its source is gone, and forgets idempotency keys after a day", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      yield* endpoint(acme, "https://hooks.example.com/")
      yield* sql`select posthorn.publish(${acme.slug}, 'invoice.paid', '{}', 'key-1')`
      yield* sql`select posthorn.publish(${acme.slug}, 'invoice.paid', '{}', 'key-2')`
      const [first, copy] = (yield* deliveries(acme)).map(({ id }) => id)
      const source = yield* makeAt(first!, sql`now() - interval '31 days'`)
      yield* sql`delete from posthorn.queue where delivery_id = ${source}`
      yield* sql`update posthorn.deliveries set replayed_from = ${source} where id = ${copy!}`
      yield* sql`update posthorn.idempotency_keys set created_at = now() - interval '25 hours' where key = 'key-1'
        and workspace_id = ${acme.id}`

      expect(yield* retention).toEqual({ deliveries: 1, events: 0, idempotencyKeys: 1 })

      expect(
        yield* sql`select id, replayed_from from posthorn.deliveries where workspace_id = ${acme.id}`
      ).toEqual([{ id: copy, replayed_from: source }])
      expect(yield* sql`select key from posthorn.idempotency_keys where workspace_id = ${acme.id}`).toEqual([
        { key: "key-2" }
      ])
    })
  )

  it.scoped("§8 runs once a day, whoever asks, and again when a run died", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from posthorn.daily_runs`

      const answers = yield* Effect.all([daily, daily, daily], { concurrency: "unbounded" })
      expect(answers.filter((answer) => answer !== null)).toHaveLength(1)
      expect(yield* daily).toBeNull()

      yield* sql`update posthorn.daily_runs set finished_at = null, started_at = now() - interval '16 minutes'`
      expect(yield* daily).not.toBeNull()
    })
  )
})
