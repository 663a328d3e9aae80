/** Two connections and one endpoint: what `posthorn.record` does while another transaction changes it, step by step. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { sqlProblemOf } from "@posthorn/persistence/client/Statement"
import * as Records from "@posthorn/persistence/engine/Records"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { record, recordHere, waitingForLocks } from "../processes/Observations.ts"
import { lawsHold } from "../processes/Story.ts"
import {
  attempts,
  disable,
  enable,
  endpoint,
  endpointRow,
  publish,
  Setting,
  type Workspace,
  workspace
} from "../Setting.ts"

/** The recorder then halves its group until each observation is alone. */
const CARDINALITY_VIOLATION = "21000"

const RacesSetting = Records.layer.pipe(Layer.provideMerge(Setting))

/** Begins a transaction with `first`, and keeps it open until `commit` is done. */
const heldOpen = <A, E, R>(first: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [begun, commit] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const fiber = yield* first.pipe(
      Effect.zipRight(Deferred.succeed(begun, undefined)),
      Effect.zipRight(Deferred.await(commit)),
      sql.withTransaction,
      Effect.fork
    )
    yield* Deferred.await(begun)
    return Effect.zipRight(Deferred.succeed(commit, undefined), Fiber.join(fiber))
  })

const evidence = ({ id }: Workspace) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audits = yield* sql<{
      action: string
    }>`select action from posthorn.audit_events where workspace_id = ${id}`
    const notices = yield* sql<{
      kind: string
    }>`select kind from posthorn.notifications where workspace_id = ${id}`
    return { audits: audits.map((row) => row.action), notices: notices.map((row) => row.kind) }
  })

/** An endpoint whose last `streak` attempts failed, and `more` waiting deliveries. */
const failing = (streak: number, more: number) =>
  Effect.gen(function* () {
    const acme = yield* workspace
    const { id } = yield* endpoint(acme, "https://receiver.example/")
    const deliveries = (yield* publish(acme, streak + more)).map((deliveryId) => ({
      deliveryId,
      endpointId: id
    }))
    yield* record(acme, ...deliveries.slice(0, streak))
    return { acme, id, waiting: deliveries.slice(streak) }
  })

layer(RacesSetting, { excludeTestServices: true })("recording while", (it) => {
  it.scoped("§3.4 the endpoint is enabled again: an attempt begun before does not count", () =>
    Effect.gen(function* () {
      const { acme, id, waiting } = yield* failing(19, 2)
      const [before, after] = waiting
      yield* disable(id)
      const commit = yield* heldOpen(enable(id))

      const late = yield* Effect.fork(record(acme, before!))
      yield* waitingForLocks(1)
      yield* commit
      yield* Fiber.join(late)
      expect(yield* endpointRow(id)).toMatchObject({ enabled: true, consecutive_failures: 0 })

      yield* record(acme, { ...after!, generation: 1 })
      expect(yield* endpointRow(id)).toMatchObject({ enabled: true, consecutive_failures: 1 })
      expect(yield* attempts(acme)).toHaveLength(21)
      expect(yield* evidence(acme)).toEqual({ audits: [], notices: [] })
      yield* lawsHold
    })
  )

  it.scoped(
    "§3.2 another worker records as well: the twentieth failure disables once, with one audit event",
    () =>
      Effect.gen(function* () {
        const { acme, id, waiting } = yield* failing(18, 6)
        const commit = yield* heldOpen(recordHere(acme, ...waiting.slice(0, 2)))

        const other = yield* Effect.fork(record(acme, ...waiting.slice(2, 4)))
        yield* waitingForLocks(1)
        yield* commit
        expect((yield* Fiber.join(other)).disabled).toEqual([])

        expect(yield* endpointRow(id)).toMatchObject({
          enabled: false,
          disabled_reason: "consecutive_failures",
          consecutive_failures: 22
        })
        expect(yield* evidence(acme)).toEqual({
          audits: ["webhook.endpoint_auto_disabled"],
          notices: ["endpoint_disabled"]
        })
        // In flight when it was disabled: finished, recorded, and no reason to enable it.
        yield* record(acme, { ...waiting[4]!, status: "delivered" }, waiting[5]!)
        expect(yield* endpointRow(id)).toMatchObject({ enabled: false, consecutive_failures: 1 })
        expect(yield* attempts(acme)).toHaveLength(24)
        yield* lawsHold
      })
  )

  it.scoped(
    "§2.3 another worker records the same attempt: the first observation counts, whichever waits",
    () =>
      Effect.gen(function* () {
        const { acme, id, waiting } = yield* failing(0, 1)
        const only = waiting[0]!
        const commit = yield* heldOpen(recordHere(acme, { ...only, status: "delivered" }))

        const late = yield* Effect.fork(record(acme, { ...only, status: "failed" }))
        yield* waitingForLocks(1)
        yield* commit
        expect((yield* Fiber.join(late)).recorded).toBe(0)
        expect((yield* record(acme, { ...only, status: "failed_permanent" })).recorded).toBe(0)
        expect((yield* record(acme, { ...only, ordinal: 2 })).recorded).toBe(0)

        expect(yield* attempts(acme)).toMatchObject([{ ordinal: 1, status: "delivered" }])
        expect(yield* endpointRow(id)).toMatchObject({ consecutive_failures: 0 })
        yield* lawsHold
      })
  )

  it.scoped(
    "§2.3 an attempt comes twice, or too early, while the delivery still fails: nothing changes",
    () =>
      Effect.gen(function* () {
        const { acme, id, waiting } = yield* failing(0, 1)
        const only = waiting[0]!

        const twice = yield* Effect.flip(record(acme, only, only))
        expect(sqlProblemOf(twice).code).toBe(CARDINALITY_VIOLATION)
        expect((yield* record(acme, only)).recorded).toBe(1)
        expect((yield* record(acme, only)).recorded).toBe(0)
        expect((yield* record(acme, { ...only, ordinal: 3 })).recorded).toBe(0)

        expect(yield* attempts(acme)).toHaveLength(1)
        expect(yield* endpointRow(id)).toMatchObject({ consecutive_failures: 1 })
        yield* lawsHold
      })
  )

  it.scoped(
    "§3.3 the secret is rotated: a success waits for nothing, a failure loses neither secret nor streak",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { acme, id, waiting } = yield* failing(0, 2)
        const fresh = Buffer.from("fresh")
        const commit = yield* heldOpen(
          sql`update posthorn.endpoints set previous_secret = secret, secret = ${fresh},
          previous_secret_expires_at = now() + interval '24 hours' where id = ${id}`
        )

        yield* record(acme, { ...waiting[0]!, status: "delivered" })
        const late = yield* Effect.fork(record(acme, waiting[1]!))
        yield* waitingForLocks(1)
        yield* commit
        yield* Fiber.join(late)

        expect(
          yield* sql`select secret, previous_secret is not null as kept, consecutive_failures as streak
        from posthorn.endpoints where id = ${id}`
        ).toEqual([{ secret: fresh, kept: true, streak: 1 }])
        yield* lawsHold
      })
  )

  it.scoped("§3.4 the endpoint is disabled by hand: what was in flight is recorded, the reason stays", () =>
    Effect.gen(function* () {
      const { acme, id, waiting } = yield* failing(19, 1)
      const commit = yield* heldOpen(disable(id))

      const late = yield* Effect.fork(record(acme, waiting[0]!))
      yield* waitingForLocks(1)
      yield* commit
      expect((yield* Fiber.join(late)).disabled).toEqual([])

      expect(yield* endpointRow(id)).toMatchObject({ disabled_reason: "manual", consecutive_failures: 20 })
      expect(yield* evidence(acme)).toEqual({ audits: [], notices: [] })
      expect(yield* attempts(acme)).toHaveLength(20)
      yield* lawsHold
    })
  )
})
