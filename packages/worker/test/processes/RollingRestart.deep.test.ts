/**
 * Two `serve` behind the load balancers of docker/proxies: both are restarted twice, one after another. No publish is
 * refused, and each makes one event. nginx does not check whether a server is ready, so publishes through it have a key.
 */
import { randomUUID } from "node:crypto"
import { Agent, request } from "node:https"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { authority } from "@posthorn/testkit/Certificates"
import { freePort } from "@posthorn/testkit/FreePort"
import { balanced, isThere } from "@posthorn/testkit/LoadBalancer"
import { Effect, Fiber } from "effect"
import { Setting } from "../Setting.ts"
import { OPERATOR_TOKEN, serveAt, workspaceAt } from "./ServeProcess.ts"

const PUBLISHERS = 8
const AT_LEAST = 3_000

/** Longer than HAProxy takes to notice; the default is longer still. */
const ENVIRONMENT = { DRAIN_SECONDS: "4", TRUSTED_PROXIES: "127.0.0.1", RATE_LIMIT_EVENT_PUBLISH: "off" }

/** The answer's status, or the error. */
const publish = (agent: Agent, port: number, slug: string, more: Readonly<Record<string, string>>) =>
  Effect.async<number | string>((resume) => {
    const sent = request(
      {
        agent,
        host: "127.0.0.1",
        port,
        path: `/workspaces/${slug}/events`,
        method: "POST",
        headers: { ...more, authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" }
      },
      (answer) => {
        answer.resume().once("end", () => resume(Effect.succeed(answer.statusCode!)))
      }
    )
    sent.once("error", ({ message }) => resume(Effect.succeed(message)))
    sent.end('{"eventType":"order.paid","payload":{}}')
  })

layer(Setting, { excludeTestServices: true })("a rolling restart", (it) => {
  for (const kind of ["nginx", "haproxy"] as const) {
    it.scoped.skipIf(!isThere(kind))(`§10 refuses no publish, behind ${kind}`, () =>
      Effect.gen(function* () {
        const ports = [yield* freePort, yield* freePort] as const
        const servers = [yield* serveAt(ports[0], ENVIRONMENT), yield* serveAt(ports[1], ENVIRONMENT)]
        yield* workspaceAt(ports[0], kind)
        const port = yield* balanced(kind, ports)
        const agent = new Agent({ keepAlive: true, ca: authority() })
        yield* Effect.addFinalizer(() => Effect.sync(() => agent.destroy()))
        const keyed = () => (kind === "nginx" ? { "idempotency-key": randomUUID() } : {})
        const answers = new Map<number | string, number>()
        let count = 0
        let restarting = true
        const publisher = Effect.whileLoop({
          while: () => restarting || count < AT_LEAST,
          // biome-ignore lint/plugin: a pace
          body: () => Effect.zipLeft(publish(agent, port, kind, keyed()), Effect.sleep("10 millis")),
          step: (status) => {
            count += 1
            answers.set(status, (answers.get(status) ?? 0) + 1)
          }
        })
        const publishers = yield* Effect.fork(
          Effect.all(
            Array.from({ length: PUBLISHERS }, () => publisher),
            { concurrency: PUBLISHERS }
          )
        )
        for (const at of [0, 1, 0, 1] as const) {
          servers[at]!.signal("SIGTERM")
          expect(yield* servers[at]!.ended).toEqual({ code: 0, signal: null })
          servers[at] = yield* serveAt(ports[at], ENVIRONMENT)
          // Until the load balancer has noticed that it is back.
          // biome-ignore lint/plugin: what a load balancer knows cannot be seen
          yield* Effect.sleep("3 seconds")
        }
        restarting = false
        yield* Fiber.join(publishers)

        expect(Object.fromEntries(answers)).toEqual({ 202: count })
        const sql = yield* SqlClient.SqlClient
        expect(
          yield* sql`select count(*)::int as events from posthorn.events e
            join posthorn.workspaces w on w.id = e.workspace_id where w.slug = ${kind}`
        ).toEqual([{ events: count }])
      })
    )
  }
})
