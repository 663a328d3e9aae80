/** Somebody holds rows of one endpoint for long, as the deletion of a long history does: nobody else has to wait. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Deferred, Effect, Fiber } from "effect"
import { endpoints, lawsHold, publishTo, repeatsIn, tally, within } from "./processes/Story.ts"
import { Setting, statuses, worker, workspace } from "./Setting.ts"

const ENDPOINTS = 12
const HELD = 120
/** Sent again is only what was answered too late: never here, however busy the machine. */
const REQUEST_TIMEOUT_MS = 10_000

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
        yield* worker({ requestTimeoutMs: REQUEST_TIMEOUT_MS })

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

  it.scoped(
    "decision §7 of 120 endpoints hold up no other, although more than a thousand observations wait for them",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const receiver = yield* makeReceiver()
        const [held, free] = [yield* workspace, yield* workspace]
        yield* endpoints(held, HELD, () => receiver.url("/ok"))
        yield* endpoints(free, ENDPOINTS, () => receiver.url("/ok"))
        yield* publishTo(held, HELD, 20)
        const [begun, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const holder =
          yield* sql`select from posthorn.deliveries where workspace_id = ${held.id} for update`.pipe(
            Effect.zipRight(Deferred.succeed(begun, undefined)),
            Effect.zipRight(Deferred.await(over)),
            sql.withTransaction,
            Effect.fork
          )
        yield* Deferred.await(begun)
        yield* worker({ requestTimeoutMs: REQUEST_TIMEOUT_MS })
        yield* receiver.waitFor(HELD * 8)
        yield* publishTo(free, ENDPOINTS, 20)

        yield* within(8, statuses(free), (all) => all.every((status) => status === "delivered"))

        yield* Deferred.succeed(over, undefined)
        yield* Fiber.join(holder)
        yield* within(10, statuses(held), (all) => all.every((status) => status === "delivered"))
        expect(repeatsIn(receiver.received)).toBe(0)
        yield* lawsHold
      }),
    60_000
  )
})
