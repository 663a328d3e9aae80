/**
 * The delivery policies of an endpoint and of its workspace: what is accepted, which policy results, and what is refused.
 */

import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint } from "../Fixtures.ts"
import { entered, testServer } from "../TestServer.ts"

layer(testServer(), { excludeTestServices: true })("delivery policies", (it) => {
  it.effect("§3.5 an endpoint's members override its workspace's, and those override the default", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, {
        policy: { retries: { kind: "waits", seconds: [5, 60] }, onGone: "disable" }
      })
      const plain = yield* makeEndpoint(ws)
      const settings = yield* ws.call("PATCH", "/settings", {
        body: {
          policy: {
            retries: { kind: "patient" },
            jitter: 0.25,
            rateLimit: { requests: 5, perSeconds: 60 },
            disableAfter: { kind: "never" }
          }
        }
      })
      const [own, workspaces] = [
        (yield* ws.call("GET", `/webhooks/${id}`)).body,
        (yield* ws.call("GET", `/webhooks/${plain}`)).body
      ]

      expect(settings.status).toBe(200)
      expect((yield* ws.call("GET", "/settings")).body).toEqual(settings.body)
      const both = {
        jitter: 0.25,
        honorRetryAfter: false,
        timeoutSeconds: 10,
        rateLimit: { requests: 5, perSeconds: 60 },
        disableAfter: { kind: "never" }
      }
      expect(own.policy).toEqual({ retries: { kind: "waits", seconds: [5, 60] }, onGone: "disable" })
      expect(own.effectivePolicy).toEqual({
        ...both,
        retries: { kind: "waits", seconds: [5, 60] },
        onGone: "disable",
        givesUpAfterSeconds: 65
      })
      expect(workspaces.policy).toBe(null)
      expect(workspaces.effectivePolicy).toEqual({
        ...both,
        retries: { kind: "patient" },
        onGone: "fail",
        givesUpAfterSeconds: 272_105
      })
    })
  )

  it.effect("§3.5 a PATCH replaces a policy as a whole, checks the tag, and audits old and new values", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws, { policy: { jitter: 0.1, onGone: "disable" } })
      const patch = (body: object) => ws.call("PATCH", `/webhooks/${id}`, { body })
      const same = yield* patch({ policy: { onGone: "disable", jitter: 0.1 } })
      const changed = yield* patch({ policy: { honorRetryAfter: true } })
      const none = yield* patch({ policy: null })
      yield* ws.call("PATCH", "/settings", { body: { policy: { jitter: 0.5 } } })
      yield* ws.call("PATCH", "/settings", { body: { policy: { jitter: 0.5 } } })
      yield* ws.call("PATCH", "/settings", { body: { policy: null } })

      expect(changed.body.policy).toEqual({ honorRetryAfter: true })
      expect(none.body.policy).toBe(null)
      expect(new Set([same, changed, none].map(({ headers }) => headers.get("etag"))).size).toBe(3)
      const { body: log } = yield* ws.call("GET", "/audit-events?limit=5")
      expect(log.items.map(({ action, changes }) => [action, changes])).toEqual([
        [
          "workspace.settings_updated",
          { fields: ["policy"], from: { policy: { jitter: 0.5 } }, to: { policy: null } }
        ],
        [
          "workspace.settings_updated",
          { fields: ["policy"], from: { policy: null }, to: { policy: { jitter: 0.5 } } }
        ],
        [
          "webhook.endpoint_updated",
          { fields: ["policy"], from: { policy: { honorRetryAfter: true } }, to: { policy: null } }
        ],
        [
          "webhook.endpoint_updated",
          {
            fields: ["policy"],
            from: { policy: { jitter: 0.1, onGone: "disable" } },
            to: { policy: { honorRetryAfter: true } }
          }
        ],
        ["webhook.endpoint_created", expect.anything()]
      ])
    })
  )

  it.effect(
    "§3.5 a delivery that waits for its rate shows when the next attempt may begin, at the earliest",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const ws = yield* entered
        const id = yield* makeEndpoint(ws, { policy: { rateLimit: { requests: 2, perSeconds: 600 } } })
        yield* ws.call("POST", "/events", { body: { eventType: "invoice.paid", payload: {} } })
        const shown = Effect.gen(function* () {
          const { body: list } = yield* ws.call("GET", `/webhooks/${id}/deliveries`)
          const [listed] = list.items as unknown as ReadonlyArray<Record<string, string>>
          const { body: one } = yield* ws.call("GET", `/webhooks/deliveries/${listed!.id}`)
          expect(one.nextAttemptAt).toBe(listed!.nextAttemptAt)
          return listed!
        })
        const begin = (at: string) =>
          sql`insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id) values (${ws.workspaceId}, ${id}, ${at}, 'a')`
        const { createdAt = "", nextAttemptAt } = yield* shown
        const now = Date.parse(createdAt)
        const time = (seconds: number) => new Date(now + seconds * 1_000).toISOString()
        yield* begin(time(-60))
        expect((yield* shown).nextAttemptAt).toBe(nextAttemptAt)
        yield* begin(time(-30))

        expect(yield* shown).toMatchObject({ status: "pending", nextAttemptAt: time(540) })
      })
  )

  it.effect("§5.1 only a caller that may update the workspace can change its settings", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const developer = yield* ws.tokenWith("read", "webhook:update")
      const refused = yield* ws.call("PATCH", "/settings", { token: developer, body: { policy: null } })
      expect(refused).toMatchObject({ status: 403, body: { permission: "workspace:update" } })
      expect((yield* ws.call("GET", "/settings", { token: developer })).status).toBe(200)
    })
  )

  const waits = (...seconds: ReadonlyArray<unknown>) => ({ retries: { kind: "waits", seconds } })
  const wrong: Array<[unknown, string]> = [
    [[], ""],
    ["patient", ""],
    [{ retry: 1 }, "/retry"],
    [{ retries: "patient" }, "/retries"],
    [{ retries: { kind: "weekly" } }, "/retries/kind"],
    [{ retries: { kind: "patient", seconds: [1] } }, "/retries"],
    [waits(), "/retries"],
    [waits(0), "/retries"],
    [waits(1.5), "/retries"],
    [waits(604_801), "/retries"],
    [waits("60"), "/retries"],
    [waits(604_800, 604_800, 604_800, 604_800, 172_801), "/retries"],
    [waits(...Array.from({ length: 21 }, () => 1)), "/retries"],
    [{ jitter: -0.1 }, "/jitter"],
    [{ jitter: 0.6 }, "/jitter"],
    [{ jitter: null }, "/jitter"],
    [{ honorRetryAfter: "true" }, "/honorRetryAfter"],
    [{ timeoutSeconds: 0 }, "/timeoutSeconds"],
    [{ timeoutSeconds: 61 }, "/timeoutSeconds"],
    [{ timeoutSeconds: 1.5 }, "/timeoutSeconds"],
    [{ rateLimit: 5 }, "/rateLimit"],
    [{ rateLimit: { requests: 0, perSeconds: 1 } }, "/rateLimit"],
    [{ rateLimit: { requests: 10_001, perSeconds: 1 } }, "/rateLimit"],
    [{ rateLimit: { requests: 1, perSeconds: 3_601 } }, "/rateLimit"],
    [{ rateLimit: { requests: 1 } }, "/rateLimit"],
    [{ disableAfter: { kind: "failures", count: 0 } }, "/disableAfter"],
    [{ disableAfter: { kind: "failures", count: 1_001 } }, "/disableAfter"],
    [{ disableAfter: { kind: "failures" } }, "/disableAfter"],
    [{ disableAfter: { kind: "failing_for", seconds: 3_599 } }, "/disableAfter"],
    [{ disableAfter: { kind: "never", count: 1 } }, "/disableAfter"],
    [{ onGone: "delete" }, "/onGone"]
  ]
  it.effect.each(wrong)("§7.1 refuses %j, and points at the fault", ([policy, path]) =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* makeEndpoint(ws)
      for (const where of [`/webhooks/${id}`, "/settings"]) {
        const refused = yield* ws.call("PATCH", where, { body: { policy } })
        expect(refused).toMatchObject({ status: 400, body: { _tag: "InvalidRequest" } })
        expect(refused.body.issues).toContainEqual(
          expect.objectContaining({ path: expect.stringContaining(`/policy${path}`) })
        )
      }
      expect((yield* ws.call("GET", `/webhooks/${id}`)).body.policy).toBe(null)
    })
  )

  const right: Array<object> = [
    {},
    waits(604_800, 604_800, 604_800, 604_800, 172_800),
    waits(...Array.from({ length: 20 }, () => 1)),
    { retries: { kind: "none" }, jitter: 0.5, timeoutSeconds: 60, honorRetryAfter: true },
    { disableAfter: { kind: "failing_for", seconds: 2_592_000 }, timeoutSeconds: 1 },
    { rateLimit: { requests: 10_000, perSeconds: 3_600 } },
    { rateLimit: null }
  ]
  it.effect.each(right)("§3.5 accepts %j", (policy) =>
    Effect.gen(function* () {
      const ws = yield* entered
      const made = yield* ws.call("POST", "/webhooks", {
        body: { url: "https://example.com/in", eventTypes: ["a.b"], policy }
      })
      expect(made).toMatchObject({ status: 201, body: { policy } })
    })
  )
})
