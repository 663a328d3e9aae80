/** A worker whose proxy fails, on a real PostgreSQL: attempts are repeated, and no endpoint's streak grows. */
import { assert, layer } from "@effect/vitest"
import { make as makeProxy } from "@posthorn/testkit/ConnectProxy"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import {
  attempts,
  deliveries,
  endpoint,
  endpointRow,
  publish,
  Setting,
  until,
  worker,
  workspace
} from "./Setting.ts"

const EVENTS = 3

layer(Setting, { excludeTestServices: true })("a proxy", (it) => {
  it.scoped("§3.4 that fails costs no endpoint its streak; due deliveries go out once it works again", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const proxy = yield* makeProxy({ answer: "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n" })
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/ok"))
      yield* publish(acme, EVENTS)
      yield* worker({ proxy: { host: "127.0.0.1", port: proxy.port, authorization: null } })

      yield* until(deliveries(acme), (all) => all.every(({ status }) => status === "dead_lettered"))
      const made = yield* attempts(acme)
      assert.strictEqual(made.length, EVENTS * 7)
      for (const { failure_reason, http_status, status } of made)
        assert.deepStrictEqual([status, failure_reason, http_status], ["failed", "proxy_failed", null])
      assert.deepInclude(yield* endpointRow(id), { enabled: true, consecutive_failures: 0 })
      assert.strictEqual(receiver.connections.opened, 0)

      proxy.behaviour = "tunnel"
      const [last] = yield* publish(acme)
      yield* until(deliveries(acme), (all) =>
        all.some((one) => one.id === last && one.status === "delivered")
      )
      assert.isAbove(proxy.asked.length, EVENTS)
    })
  )
})
