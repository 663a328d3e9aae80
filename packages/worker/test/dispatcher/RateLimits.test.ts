/** Rates at work, on a real PostgreSQL: what they hold back, what they do not, and what the next worker knows of the last. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import {
  deliveries,
  drained,
  endpoint,
  publish,
  queued,
  Setting,
  setPolicy,
  statuses,
  testSend,
  until,
  type Workspace,
  worker,
  workspace
} from "../Setting.ts"

/** Longer than a test. */
const HOUR = { requests: 1, perSeconds: 3_600 }

const beganAt = ({ id }: Workspace) =>
  Effect.map(
    rows<{ at: string }>`select at::text from posthorn.attempts where workspace_id = ${id} order by at`,
    (found) => found.map(({ at }) => Date.parse(at))
  )

const delivered = (where: Workspace, count: number) =>
  until(
    Effect.map(statuses(where), (all) => all.filter((status) => status === "delivered").length),
    (n) => n >= count
  )

/** How many attempts too many there are in some window. */
const over = (times: ReadonlyArray<number>, { perSeconds, requests }: RateLimit) =>
  times.filter((first, n) => {
    const last = times[n + requests]
    return last !== undefined && last - first < perSeconds * 1_000
  })

layer(Setting, { excludeTestServices: true })("a rate", (it) => {
  it.scoped("§3.5 holds for every window, of whatever worker, and every delivery goes out", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/"))
      const limit = { requests: 4, perSeconds: 1 }
      yield* setPolicy(id, { rateLimit: limit })
      yield* publish(acme, 14)
      for (const count of [3, 8]) {
        yield* Effect.scoped(Effect.zipRight(worker(), delivered(acme, count)))
      }
      yield* worker()
      yield* drained(acme)

      const times = yield* beganAt(acme)
      assert.lengthOf(times, 14)
      assert.deepStrictEqual(over(times, limit), [])
      // As the receiver sees it: an arrival is delayed by less than a fifth of the window.
      const seen = receiver.received.map(({ at }) => at)
      assert.deepStrictEqual(over(seen, { ...limit, perSeconds: 0.8 * limit.perSeconds }), [])
    })
  )

  it.scoped("§3.5 holds nothing back but its own endpoint, and is no failure", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const [acme, other] = [yield* workspace, yield* workspace]
      const { id } = yield* endpoint(acme, receiver.url("/status/200"))
      yield* setPolicy(id, { rateLimit: HOUR })
      yield* endpoint(other, receiver.url("/status/201"))
      yield* worker()
      yield* publish(acme, 30)
      yield* publish(other, 30)
      yield* drained(other)

      assert.deepStrictEqual(
        (yield* deliveries(acme)).map(({ attempts, status }) => `${status} ${attempts}`).toSorted(),
        ["delivered 1", ...Array.from({ length: 29 }, () => "pending 0")]
      )
    })
  )

  it.scoped("§3.5 of an endpoint or its workspace that is lifted lets what waits go at once", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const [acme, other] = [yield* workspace, yield* workspace]
      const { id } = yield* endpoint(acme, receiver.url("/status/200"))
      yield* setPolicy(id, { rateLimit: HOUR })
      yield* endpoint(other, receiver.url("/status/201"))
      yield* setPolicy(other.id, { rateLimit: HOUR }, "workspaces")
      yield* worker()
      for (const where of [acme, other]) {
        yield* publish(where, 20)
        yield* delivered(where, 1)
      }
      assert.strictEqual((yield* queued(acme)) + (yield* queued(other)), 38)

      yield* setPolicy(id, { rateLimit: null })
      yield* drained(acme)
      yield* setPolicy(other.id, null, "workspaces")
      yield* drained(other)
    })
  )

  it.scoped("§3.5 counts test sends, and remembers an endpoint of which nothing waits", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, receiver.url("/"))
      yield* setPolicy(endpointId, { rateLimit: { requests: 2, perSeconds: 3_600 } })
      yield* worker()
      yield* testSend(acme, endpointId)
      yield* delivered(acme, 1)
      yield* publish(acme)
      yield* delivered(acme, 2)
      yield* testSend(acme, endpointId)
      const other = yield* workspace
      yield* endpoint(other, receiver.url("/status/201"))
      yield* publish(other)
      yield* drained(other)

      assert.lengthOf(receiver.receivedAt("/"), 2)
    })
  )

  it.scoped("§3.5 counts as begun what a worker that died may have begun", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/"))
      yield* setPolicy(id, { rateLimit: { requests: 3, perSeconds: 3_600 } })
      yield* publish(acme, 2)
      yield* sql`update posthorn.shards set owner = 'dead', began = true where shard = posthorn.shard_of(${id})`
      yield* Effect.scoped(Effect.zipRight(worker(), delivered(acme, 1)))
      yield* publish(acme, 2)
      // It gave the shard back: this one must learn of the death from what was stored.
      yield* worker()
      const other = yield* workspace
      yield* endpoint(other, receiver.url("/status/201"))
      yield* publish(other, 5)
      yield* drained(other)

      assert.lengthOf(receiver.receivedAt("/"), 1)
    })
  )
})
