/** The dead-letter consumer and the deletion of endpoints, concurrently with each other and with recording. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import * as Records from "@posthorn/persistence/engine/Records"
import { Effect, Layer } from "effect"
import { record } from "../processes/Observations.ts"
import { lawsHold } from "../processes/Story.ts"
import {
  deliveries,
  disable,
  enable,
  endpoint,
  endpointRow,
  publish,
  Setting,
  workspace
} from "../Setting.ts"

const RacesSetting = Records.layer.pipe(Layer.provideMerge(Setting))

const LOOPS = 200

/** The number of marked deliveries. */
const deadLetter = Effect.flatMap(Records.Records, (records) =>
  Effect.map(records.deadLetter(100), ({ marked }) => marked)
)

layer(RacesSetting, { excludeTestServices: true })("dead letters and deletions", (it) => {
  it.scoped(
    "§3.1 are dead-lettered once, however many workers do it, even if the endpoint is enabled meanwhile",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const acme = yield* workspace
        const { id } = yield* endpoint(acme, "https://receiver.example/")
        const spent = (yield* publish(acme, 40)).map((deliveryId) => ({
          deliveryId,
          endpointId: id,
          exhausted: true
        }))
        yield* record(acme, ...spent)
        expect(yield* endpointRow(id)).toMatchObject({ enabled: false, consecutive_failures: 40 })
        yield* enable(id)

        const marked = yield* Effect.all(
          Array.from({ length: 8 }, () => deadLetter),
          { concurrency: 8 }
        )
        const again = yield* deadLetter
        // The same observations again, as after a lost answer: they are no longer the first.
        yield* record(acme, ...spent)
        const onceMore = yield* deadLetter

        expect(marked.reduce((sum, n) => sum + n)).toBe(40)
        expect([again, onceMore]).toEqual([0, 0])
        expect(
          (yield* deliveries(acme)).every((row) => row.status === "dead_lettered" && row.attempts === 1)
        ).toBe(true)
        expect((yield* deliveries(acme)).every((row) => row.last_http_status === 500)).toBe(true)
        expect(
          yield* sql`select kind, count(*) as n, count(distinct delivery_id) as of from posthorn.notifications
          where workspace_id = ${acme.id} group by 1 order by 1`
        ).toEqual([
          { kind: "delivery_dead_lettered", n: 40, of: 40 },
          { kind: "endpoint_disabled", n: 1, of: 1 }
        ])
        expect(yield* endpointRow(id)).toMatchObject({ enabled: true, consecutive_failures: 0 })
        yield* lawsHold
      })
  )

  it.scoped("§6 are dead-lettered even when their notification cannot be written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, "https://receiver.example/")
      const ids = yield* publish(acme, 3)
      yield* record(acme, ...ids.map((deliveryId) => ({ deliveryId, endpointId: id, exhausted: true })))
      yield* sql.unsafe(`
        create function public.refuse() returns trigger language plpgsql as $$
        begin
          if new.delivery_id = '${ids[1]}' then raise exception 'no'; end if;
          return new;
        end $$;
        create trigger refuse before insert on posthorn.notifications for each row execute function public.refuse()`)

      const marked = yield* deadLetter
      yield* sql.unsafe("drop trigger refuse on posthorn.notifications; drop function public.refuse")

      expect(marked).toBe(3)
      expect((yield* deliveries(acme)).map((row) => row.status)).toEqual(ids.map(() => "dead_lettered"))
      expect(
        yield* sql`select delivery_id from posthorn.notifications where workspace_id = ${acme.id} order by 1`
      ).toEqual([{ delivery_id: ids[0] }, { delivery_id: ids[2] }])
      yield* lawsHold
    })
  )

  it.scoped(
    "§3.1 leave alone, and do not announce, what an owner that was taken for dead delivered afterwards",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const acme = yield* workspace
        const { id } = yield* endpoint(acme, "https://receiver.example/")
        const [delivered, given] = yield* publish(acme, 2)
        yield* sql`with gone as (delete from posthorn.queue where workspace_id = ${acme.id})
          insert into posthorn.dead_letters (workspace_id, delivery_id, reason)
          select workspace_id, id, 'no_outcome' from posthorn.deliveries where workspace_id = ${acme.id}`
        yield* record(acme, { deliveryId: delivered!, endpointId: id, status: "delivered" })

        expect(yield* deadLetter).toBe(1)

        expect(yield* deliveries(acme)).toMatchObject([
          { id: delivered, status: "delivered", attempts: 1, dead_letter_reason: null },
          { id: given, status: "dead_lettered", attempts: 0, dead_letter_reason: "no_outcome" }
        ])
        expect(
          yield* sql`select delivery_id from posthorn.notifications where workspace_id = ${acme.id}`
        ).toEqual([{ delivery_id: given }])
        yield* lawsHold
      })
  )

  it.scoped(
    "§4 an endpoint is deleted while its deliveries are recorded, dead-lettered and published: no deadlock",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const acme = yield* workspace
        // It subscribes to disabled endpoints, so that recording inserts a delivery for it as well.
        const listener = yield* endpoint(acme, "https://listener.example/", "webhook.endpoint_disabled")
        for (let loop = 0; loop < LOOPS; loop++) {
          const doomed = yield* endpoint(
            acme,
            "https://doomed.example/",
            loop % 2 === 0 ? "*" : "invoice.paid"
          )
          const neighbour = yield* endpoint(acme, "https://neighbour.example/")
          const ids = yield* publish(acme, 8)
          const rows = yield* sql<{ deliveryId: string; endpointId: string }>`select id as "deliveryId",
            endpoint_id as "endpointId" from posthorn.deliveries where id = any(${ids}::text[]) order by random()`
          const ofEach = (endpointId: string) => rows.filter((row) => row.endpointId === endpointId)
          const spent = ofEach(doomed.id)
            .slice(0, 3)
            .map((row) => ({ ...row, exhausted: true }))
          const healthy = ofEach(doomed.id)
            .slice(3)
            .map((row) => ({ ...row, status: "delivered" as const }))
          yield* record(acme, ...spent)

          yield* Effect.all(
            [
              record(acme, ...healthy, ...ofEach(neighbour.id)),
              deadLetter,
              publish(acme, 2),
              sql`delete from posthorn.endpoints where id = ${doomed.id}`
            ],
            { concurrency: "unbounded" }
          )
          yield* sql`delete from posthorn.endpoints where id = ${neighbour.id}`
        }

        expect(yield* sql`select id from posthorn.endpoints where workspace_id = ${acme.id}`).toEqual([
          { id: listener.id }
        ])
        expect(
          yield* sql`select id from posthorn.deliveries where workspace_id = ${acme.id} and endpoint_id <> ${listener.id}`
        ).toEqual([])
        yield* lawsHold
      }),
    60_000
  )

  it.scoped(
    "§3.4 an endpoint is disabled while an event is published: there is a delivery or a missed event",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const acme = yield* workspace
        const { id } = yield* endpoint(acme, "https://receiver.example/")
        for (let loop = 0; loop < 50; loop++) {
          yield* Effect.all([publish(acme, 2), loop % 2 === 0 ? disable(id) : enable(id)], { concurrency: 2 })
        }

        const [{ events, made, missed } = { events: 0, made: 0, missed: 0 }] = yield* sql<
          Record<string, number>
        >`select
        (select count(*) from posthorn.events where workspace_id = ${acme.id}) as events,
        (select count(*) from posthorn.deliveries where workspace_id = ${acme.id}) as made,
        (select count(*) from posthorn.missed_events where workspace_id = ${acme.id}) as missed`
        expect(events).toBe(100)
        expect(made! + missed!).toBe(100)
        yield* lawsHold
      })
  )
})
