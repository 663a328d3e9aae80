/** A delivery that kills its worker each time it is sent (slow: eight workers start and seven die). */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { Setting, workspace } from "../Setting.ts"
import { endpoints, lawsHold, publishTo, shared, tally, within } from "./Story.ts"

const NEIGHBOURS = 5

it.scopedLive(
  "§3.4 dead-letters a delivery claimed 7 times without an observation, and none of those in flight with it",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver({
        // In flight with the poison in two lives; answered from the third on.
        behaviours: { "/neighbour": (answer) => void (answer.nth > 2 * NEIGHBOURS && answer.reply(200)) }
      })
      const acme = yield* workspace
      yield* endpoints(acme, NEIGHBOURS + 1, (n) => receiver.url(n === NEIGHBOURS ? "/hang" : "/neighbour"))
      const ids = yield* publishTo(acme, NEIGHBOURS + 1)
      const poison = ids[NEIGHBOURS]!

      for (const life of [1, 2, 3, 4, 5, 6, 7]) {
        const worker = yield* startWorker()
        yield* receiver.waitFor(life, "/hang")
        yield* receiver.waitFor(NEIGHBOURS * Math.min(life, 2), "/neighbour")
        worker.signal("SIGKILL")
        yield* worker.ended
      }
      const last = yield* startWorker()
      yield* shared(25, 32)
      yield* within(25, tally, (seen) => seen.dead_lettered === 1 && seen.delivered === NEIGHBOURS)

      expect(receiver.receivedAt("/hang")).toHaveLength(7)
      // One that was answered just before a kill is sent again: at least once.
      expect(receiver.receivedAt("/neighbour").length).toBeGreaterThanOrEqual(3 * NEIGHBOURS)
      expect(yield* sql`select id, attempts from posthorn.deliveries where status = 'dead_lettered'`).toEqual(
        [{ id: poison, attempts: 0 }]
      )
      expect(yield* sql`select kind, delivery_id from posthorn.notifications`).toEqual([
        { kind: "delivery_dead_lettered", delivery_id: poison }
      ])
      expect(last.running()).toBe(true)
      yield* lawsHold
    }).pipe(Effect.provide(Setting))
)
