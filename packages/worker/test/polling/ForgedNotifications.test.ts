/** PostgreSQL lets every role of a database notify. A forged notification neither stops a worker nor misdirects a delivery. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { drained, endpoint, endpointRow, publish, Setting, worker, workspace } from "../Setting.ts"

layer(Setting, { excludeTestServices: true })("a forged notification", (it) => {
  it.scoped("§3.4 that is no notification of Posthorn's is ignored", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/status/200"))
      yield* worker()
      yield* publish(acme)
      yield* drained(acme)
      const now = Date.now() * 1_000
      for (const payload of [
        ...[0, 1, 31].map((shard) => `${now} ${shard} wsp_{ whe_"} whd_,\\`),
        `${now} 7 ${acme.id} ${id}`,
        `NaN 7 ${acme.id} ${id} whd_x`,
        `${now} 99 ${acme.id} ${id} whd_6611f80a4a6d4991fb5087b8b976b`,
        "endpoint",
        "endpoint x y z",
        "policy",
        `${now} a,b,c`
      ])
        yield* sql`select pg_notify('posthorn_due', ${payload})`
      yield* publish(acme)
      yield* drained(acme)

      assert.lengthOf(yield* receiver.waitFor(2), 2)
    })
  )

  it.scoped("§3.4 that names a delivery of another endpoint sends it to its own, signed for its own", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const one = yield* endpoint(acme, receiver.url("/one"), "a.one")
      const two = yield* endpoint(acme, receiver.url("/two"), "a.two")
      // Due later, so that only the notification can bring it now.
      const [delivery] = yield* publish(acme, 1, "a.two")
      yield* sql`update posthorn.queue set due_at = now() + interval '1 second'`
      yield* worker()
      yield* publish(acme, 1, "a.one")
      yield* receiver.waitFor(1, "/one")
      for (let shard = 0; shard < 32; shard++) {
        const payload = `${Date.now() * 1_000} ${shard} ${acme.id} ${one.id} ${delivery}`
        yield* sql`select pg_notify('posthorn_due', ${payload})`
      }
      yield* publish(acme, 3, "a.one")
      yield* receiver.waitFor(4, "/one")
      // Held when it became due, it would be found by the next sweep. This looks back, too.
      yield* sql`select pg_notify('posthorn_due', '')`
      yield* drained(acme)

      assert.lengthOf(receiver.receivedAt("/one"), 4)
      assert.lengthOf(receiver.receivedAt("/two"), 1)
      for (const { id } of [one, two]) assert.isTrue((yield* endpointRow(id)).enabled)
    })
  )
})
