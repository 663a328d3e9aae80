import * as SqlClient from "@effect/sql/SqlClient"
import { layer } from "@effect/vitest"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import * as Queue from "@posthorn/persistence/engine/Queue"
import * as Records from "@posthorn/persistence/engine/Records"
import { EvidenceRepo } from "@posthorn/persistence/repositories/EvidenceRepo"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { whole } from "@posthorn/testkit/Whole"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { expect } from "vitest"
import {
  attempts,
  deliveries,
  drained,
  endpoint,
  publish,
  queued,
  Setting,
  statuses,
  until,
  worker,
  workspace
} from "../Setting.ts"

const waiting: Queue.DueRow = {
  workspaceId: "",
  deliveryId: "",
  endpointId: "",
  shard: 0,
  due: databaseMicros(0),
  attempts: 0,
  claims: 0,
  atOnce: false
}

/** As if the owner of every shard had died. */
const ownersDied = rows`update posthorn.shards set owner = 'dead'`

const setClaims = (deliveryId: string, count: number) =>
  rows`update posthorn.queue set claims = ${count} where delivery_id = ${deliveryId}`

layer(Setting, { excludeTestServices: true })("poison", (it) => {
  it.scoped("§3.4 holds a shard in doubt until everything that was due when its owner died is recorded", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/status/200"))
      const hanging = yield* endpoint(acme, receiver.url("/hang"), "hangs")
      yield* publish(acme, 20)
      yield* publish(acme, 1, "hangs")
      yield* ownersDied

      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* worker({ requestTimeoutMs: 10_000 })
          const inDoubt = sql<{ ours: boolean }>`select shard = posthorn.shard_of(${hanging.id}) as ours
            from posthorn.shards where owner is not null and in_doubt_until is not null`
          yield* until(inDoubt, (shards) => shards.length === 1 && shards[0]!.ours)
          yield* sql`delete from posthorn.endpoints where id = ${hanging.id}`
          yield* until(inDoubt, (shards) => shards.length === 0)
        })
      )
      expect(yield* sql`select from posthorn.shards where owner is not null`).toEqual([])
    })
  )

  it.scoped("§3.4 gives up, unsent, a delivery claimed seven times without an observation", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/status/200"))
      const [poison, innocent] = yield* publish(acme, 2)
      yield* setClaims(poison!, 7)
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

  it.scoped("§3.4 counts a claim before sending when the last owner died, and an observation resets it", () =>
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
        sql<{ claims: number }>`select claims from posthorn.queue where delivery_id = ${id!}`,
        (rows) => rows[0]?.claims
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

  it.scoped("§3.4 writes nothing for a claim when the last owner gave its shards back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* sql`update posthorn.shards set owner = null`
      yield* endpoint(acme, receiver.url("/hang"))
      const [id] = yield* publish(acme)

      yield* worker({ requestTimeoutMs: 600, retryDelayMs: 60_000 })
      yield* receiver.waitFor(1)

      expect(yield* sql`select claims from posthorn.queue where delivery_id = ${id!}`).toEqual([
        { claims: 0 }
      ])
    })
  )

  it.scoped("§3.4 counts a claim once, however often it is written, and never past seven", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      yield* endpoint(acme, "https://hooks.example.com/")
      const [id] = yield* publish(acme)
      const queue = yield* Queue.Queue
      const row = { ...waiting, workspaceId: acme.id, deliveryId: id! }
      const claim = (count: number, attempts = 0) =>
        Effect.map(queue.countClaims([{ row: { ...row, attempts }, count }], 7, true), (all) => all.get(id!))
      const stored = Effect.map(
        sql<{ n: number }>`select claims as n from posthorn.queue where delivery_id = ${id!}`,
        (rows) => rows[0]?.n
      )

      for (const count of [2, 3, 4, 5, 6, 7]) {
        expect([yield* claim(count), yield* claim(count), yield* stored]).toEqual([
          "counted",
          "counted",
          count
        ])
      }
      // An attempt was recorded meanwhile, so this claim no longer applies to that row.
      expect(yield* claim(8, 1)).toBeUndefined()
      expect([yield* claim(8), yield* stored]).toEqual(["given_up", undefined])
      expect(yield* claim(8)).toBeUndefined()
    }).pipe(Effect.provide(Queue.layer))
  )

  it.scoped("§3.4 gives up what breaks its worker before it is sent, and says that it was never sent", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      yield* sql`update posthorn.shards set owner = null`
      const { id: endpointId } = yield* endpoint(acme, "https://hooks.example.com/")
      const ids = yield* publish(acme, 2)
      const queue = yield* Queue.Queue
      const records = yield* Records.Records
      const giveUp = (deliveryId: string, sending: boolean) =>
        Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], (count) =>
          queue.countClaims([{ row: { ...waiting, workspaceId: acme.id, deliveryId }, count }], 7, sending)
        )
      yield* giveUp(ids[0]!, false)
      yield* giveUp(ids[1]!, true)
      yield* records.deadLetter(100)

      const told = yield* sql<{ message: string }>`select message from posthorn.notifications
        where workspace_id = ${acme.id} order by delivery_id`
      expect(told.map(({ message }) => message)).toEqual([
        expect.stringContaining("was never sent"),
        expect.stringContaining("may have received it")
      ])
      expect(
        yield* sql`select dead_letter_reason as reason from posthorn.deliveries where workspace_id = ${acme.id} order by id`
      ).toEqual([{ reason: "never_sent" }, { reason: "no_outcome" }])
      const evidence = yield* Effect.flatMap(EvidenceRepo, (repo) => repo.gather(whole(acme.id), endpointId))
      expect(evidence!.stopped).toMatchObject({ count: 2, neverSent: 1 })
    }).pipe(Effect.provide(Layer.mergeAll(Queue.layer, Records.layer, EvidenceRepo.Default)))
  )

  it.scoped("§3.4 assumes nothing of a dead worker about what was committed after its death", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, "https://hooks.example.com/")
      const [seen] = yield* publish(acme)
      const [{ shard } = { shard: 0 }] = yield* sql<{
        shard: number
      }>`select posthorn.shard_of(${endpointId}) as shard`
      yield* ownersDied
      yield* sql`select posthorn.take_shard(${shard}::smallint, 'alive')`
      const [unseen] = yield* publish(acme)
      const queue = yield* Queue.Queue
      const claim = Effect.forEach([seen, unseen], (deliveryId) =>
        queue.countClaims(
          [{ row: { ...waiting, workspaceId: acme.id, deliveryId: deliveryId! }, count: 2 }],
          7,
          true
        )
      )
      const counted = sql`select claims from posthorn.queue where workspace_id = ${acme.id} order by delivery_id`

      yield* claim
      expect(yield* counted).toEqual([{ claims: 2 }, { claims: 1 }])
      yield* claim
      expect(yield* counted).toEqual([{ claims: 2 }, { claims: 1 }])
    }).pipe(Effect.provide(Queue.layer))
  )

  it.scoped("§3.4 leaves out a row in doubt that is locked, and sends all others at once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const [acme, globex] = [yield* workspace, yield* workspace]
      yield* endpoint(acme, receiver.url("/status/200"))
      yield* endpoint(globex, receiver.url("/status/204"))
      const [held] = yield* publish(acme, 3)
      yield* publish(globex, 10)
      yield* ownersDied
      const [begun, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder = yield* sql`select from posthorn.queue where delivery_id = ${held!} for update`.pipe(
        Effect.zipRight(Deferred.succeed(begun, undefined)),
        Effect.zipRight(Deferred.await(over)),
        sql.withTransaction,
        Effect.fork
      )
      yield* Deferred.await(begun)

      yield* worker()
      yield* until(queued(globex), (n) => n === 0)
      yield* until(queued(acme), (n) => n === 1)
      expect(receiver.receivedAt("/status/200")).toHaveLength(2)
      yield* Deferred.succeed(over, undefined)
      yield* Fiber.join(holder)
      yield* drained(acme)

      expect(receiver.receivedAt("/status/200")).toHaveLength(3)
      expect(yield* statuses(acme)).toEqual(["delivered", "delivered", "delivered"])
    })
  )
})
