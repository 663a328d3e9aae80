/** Somebody holds rows of one endpoint for long, as the deletion of a long history does: nobody else has to wait. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Deferred, Effect, Fiber } from "effect"
import { endpoints, lawsHold, publishTo, repeatsIn, tally, within } from "./processes/Story.ts"
import { Setting, worker, workspace } from "./Setting.ts"

const ENDPOINTS = 12

layer(Setting, { excludeTestServices: true })("rows that are held", (it) => {
  it.scoped(
    "decision §7 of one endpoint hold up no other, and are recorded once when they are free",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        const [held] = yield* endpoints(acme, ENDPOINTS, () => receiver.url("/ok"))
        yield* publishTo(acme, ENDPOINTS, 20)
        const [begun, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const holder =
          yield* sql`select from posthorn.deliveries where endpoint_id = ${held!.id} for update`.pipe(
            Effect.zipRight(Deferred.succeed(begun, undefined)),
            Effect.zipRight(Deferred.await(over)),
            sql.withTransaction,
            Effect.fork
          )
        yield* Deferred.await(begun)
        yield* worker()

        yield* within(20, tally, (seen) => seen.delivered === 20 * (ENDPOINTS - 1))
        expect(yield* tally).toEqual({ delivered: 20 * (ENDPOINTS - 1), pending: 20 })
        yield* Deferred.succeed(over, undefined)
        yield* Fiber.join(holder)
        yield* within(10, tally, (seen) => seen.delivered === 20 * ENDPOINTS)

        expect(repeatsIn(receiver.received)).toBe(0)
        yield* lawsHold
      }),
    40_000
  )
})
