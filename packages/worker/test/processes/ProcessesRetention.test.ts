/** Retention while a worker process has old deliveries in flight and in its queue. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Duration, Effect, Layer } from "effect"
import { disable, Setting, workspace } from "../Setting.ts"
import { endpoints, holding, lawsHold, publishTo, shared, tally, within } from "./Story.ts"

/** The ids of requests in flight are known, so nothing here is made older. */
const keepingNothing = Retention.layer.pipe(
  Layer.provide(Layer.succeed(Retention.HistoryKept, Duration.zero)),
  Layer.provideMerge(Setting)
)

it.scopedLive(
  "§8 removes old history in passes of 100, never what is queued or in flight, and runs once a day",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const retention = yield* Retention.Retention
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({ behaviours: { "/held": holding(2, open) } })
      const acme = yield* workspace
      const made = yield* endpoints(acme, 3, (n) => receiver.url(["/ok", "/held", "/ok"][n]!))
      yield* startWorker()
      yield* publishTo(acme, 1, 250)
      yield* within(25, tally, (seen) => seen.delivered === 250)
      const [source] = yield* publishTo(acme, 1)
      yield* within(25, tally, (seen) => seen.delivered === 251)
      // One in flight, one that waits for its endpoint, one that is a replay of what will be removed.
      yield* disable(made[2]!.id)
      yield* shared(25, 32)
      yield* sql`with d as (
          insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, replayed_from, created_at)
          select ${acme.id}, posthorn.new_id('whd_'), id, 'a.b', '1', replace(gen_random_uuid()::text, '-', ''), ${source!}, now()
          from posthorn.endpoints where id in (${made[1]!.id}, ${made[2]!.id}) returning *
        ), queued as (
          insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
          select workspace_id, id, endpoint_id, posthorn.shard_of(endpoint_id), date_trunc('milliseconds', now()) from d
        ) select pg_notify('posthorn_due', '')`
      yield* receiver.waitFor(1, "/held")
      yield* sql`update posthorn.deliveries set next_attempt_at = (select due_at from posthorn.queue where delivery_id = id)
        where status = 'pending'`
      // On a busy machine the worker may have made its own run by now, when nothing was old enough.
      yield* sql`delete from posthorn.daily_runs`
      const removed = yield* retention.daily
      const again = yield* retention.daily

      expect(removed).toMatchObject({ deliveries: 251 })
      expect(again).toBeNull()
      expect(yield* tally).toEqual({ pending: 2 })
      expect(yield* sql`select count(*) as n from posthorn.attempts`).toEqual([{ n: 0 }])
      expect(yield* sql`select distinct replayed_from from posthorn.deliveries`).toEqual([
        { replayed_from: source }
      ])

      for (const answer of open.splice(0)) answer()
      yield* within(25, tally, (seen) => seen.delivered === 1)
      expect(yield* retention.run).toMatchObject({ deliveries: 1 })
      expect(yield* tally).toEqual({ pending: 1 })
      yield* lawsHold
    }).pipe(Effect.provide(keepingNothing))
)
