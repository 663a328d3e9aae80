import * as SqlClient from "@effect/sql/SqlClient"
import { layer } from "@effect/vitest"
import * as Queue from "@posthorn/persistence/Queue"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { expect } from "vitest"
import {
  attempts,
  deliveries,
  drained,
  endpoint,
  publish,
  Setting,
  statuses,
  until,
  worker,
  workspace
} from "./Setting.ts"

/** As if the owner of every shard had died. */
const ownersDied = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`update posthorn.shards set owner = 'dead'`
)

const takeUps = (deliveryId: string, count: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update posthorn.queue set take_ups = ${count} where delivery_id = ${deliveryId}`
  )

layer(Setting, { excludeTestServices: true })("poison", (it) => {
  it.scoped(
    "decision §7 gives up a delivery that was taken up seven times without an observation, unsent",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        yield* endpoint(acme, receiver.url("/status/200"))
        const [poison, innocent] = yield* publish(acme, 2)
        yield* takeUps(poison!, 7)
        yield* ownersDied

        yield* worker()
        yield* until(statuses(acme), (all) => all.join() === "dead_lettered,delivered")

        expect(receiver.received).toHaveLength(1)
        expect((yield* attempts(acme)).map(({ delivery_id }) => delivery_id)).toEqual([innocent])
        expect(yield* deliveries(acme)).toMatchObject([{ id: poison, attempts: 0 }, { id: innocent }])
        expect(
          yield* sql`select kind, delivery_id from posthorn.notifications where workspace_id = ${acme.id}`
        ).toEqual([{ kind: "delivery_dead_lettered", delivery_id: poison }])
      })
  )

  it.scoped(
    "decision §7 counts a take-up before sending when the last owner died, and an observation clears it",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const open: Array<() => void> = []
        const receiver = yield* makeReceiver({
          behaviours: { "/held": (answer) => void open.push(() => answer.reply(500)) }
        })
        const acme = yield* workspace
        yield* endpoint(acme, receiver.url("/held"))
        const [id] = yield* publish(acme)
        const counted = Effect.map(
          sql<{ take_ups: number }>`select take_ups from posthorn.queue where delivery_id = ${id!}`,
          (rows) => rows[0]?.take_ups
        )
        yield* ownersDied

        yield* worker({ retryDelayMs: 60_000, requestTimeoutMs: 10_000 })
        yield* receiver.waitFor(1)
        expect(yield* counted).toBe(2)
        for (const answer of open.splice(0)) answer()

        yield* until(statuses(acme), ([status]) => status === "failed")
        expect(yield* counted).toBe(0)
      })
  )

  it.scoped("decision §7 writes nothing for a take-up when the last owner gave its shards back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* sql`update posthorn.shards set owner = null`
      yield* endpoint(acme, receiver.url("/hang"))
      const [id] = yield* publish(acme)

      yield* worker({ requestTimeoutMs: 600, retryDelayMs: 60_000 })
      yield* receiver.waitFor(1)

      expect(yield* sql`select take_ups from posthorn.queue where delivery_id = ${id!}`).toEqual([
        { take_ups: 0 }
      ])
    })
  )

  it.scoped(
    "decision §7 counts from one for a suspect, from nothing for a defect, and never sends past seven",
    () =>
      Effect.gen(function* () {
        const acme = yield* workspace
        yield* endpoint(acme, "https://hooks.example.com/")
        const [first, second] = yield* publish(acme, 2)
        const queue = yield* Queue.Queue
        const row = (deliveryId: string): Queue.Waiting => ({
          workspaceId: acme.id,
          deliveryId,
          endpointId: "",
          shard: 0,
          due: 0,
          attempts: 0,
          takeUps: 0
        })
        const suspect = () => Effect.map(queue.takeUp([row(first!)], 1, 7), (counts) => counts.get(first!))
        const defect = () => Effect.map(queue.takeUp([row(second!)], 0, 7), (counts) => counts.get(second!))

        const suspected = yield* Effect.forEach(Array(7).keys(), suspect)
        const broken = yield* Effect.forEach(Array(8).keys(), defect)

        expect(suspected).toEqual([2, 3, 4, 5, 6, 7, undefined])
        expect(broken).toEqual([1, 2, 3, 4, 5, 6, 7, undefined])
        yield* drained(acme)
      }).pipe(Effect.provide(Queue.layer))
  )
})
