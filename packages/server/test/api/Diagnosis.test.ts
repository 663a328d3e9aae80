import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { diagnose, everyStep, type NextStep } from "@posthorn/domain/diagnosis/Diagnosis"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { Effect, Redacted } from "effect"
import { describe, it as test } from "vitest"
import { tools } from "../../src/mcp/Tools.ts"
import { makeDelivery, makeEndpoint, observe, publish } from "../Fixtures.ts"
import { type Entered, entered, testServer } from "../TestServer.ts"

interface Diagnosed {
  readonly health: string
  readonly examined: { readonly attempts: number; readonly since: string | null }
  readonly findings: ReadonlyArray<{
    readonly code: string
    readonly summary: string
    readonly since: string | null
    readonly inARow: number
    readonly confidence: string
    readonly because: string
    readonly changedBefore: { readonly action: string; readonly fields: ReadonlyArray<string> } | null
    readonly deliveryIds: ReadonlyArray<string>
    readonly nextSteps: ReadonlyArray<NextStep>
  }>
}

const diagnosisOf = (ws: Entered, endpointId: string) =>
  Effect.map(ws.call<Diagnosed>("GET", `/webhooks/${endpointId}/diagnosis`), ({ body }) => body)

const codesOf = ({ findings }: Diagnosed) => findings.map(({ code }) => code)

/** Publishes one event and records the outcome of its first attempt. */
const deliver = (ws: Entered, observed: Parameters<typeof observe>[2]) =>
  Effect.gen(function* () {
    const { deliveryIds } = yield* publish(ws)
    yield* observe(ws, deliveryIds[0]!, observed)
    return deliveryIds[0]!
  })

const refused = { status: "failed_permanent", httpStatus: 404 } as const

describe("the next steps of a diagnosis", () => {
  test("§4.6 name operations and tools of the contract", () => {
    const named = everyStep.map(({ operation, tool }) => [operation, tool])

    expect(named).toEqual(
      named.map(([operation]) => [operation, entries.find(({ name }) => name === operation)?.rules.tool])
    )
  })

  test("§4.6 give only arguments that their tools have", () => {
    const at = "2026-11-20T12:00:00.000Z"
    const { findings } = diagnose({
      now: at,
      endpoint: {
        id: "whe_1",
        enabled: false,
        disabledReason: "manual",
        disabledAt: at,
        createdAt: at,
        consecutiveFailures: 1,
        eventTypes: ["*"],
        urlRefusal: null,
        honorsRetryAfter: false,
        certificateExpiresAt: at,
        secretReadable: true
      },
      requestTimeoutMs: 10_000,
      retryDelayMs: 30_000,
      filtered: null,
      published: [],
      olderChanges: false,
      attempts: [
        {
          deliveryId: "whd_1",
          eventType: "a.b",
          at,
          status: "failed",
          durationMs: 1,
          httpStatus: 429,
          failureReason: "http_status",
          failureDetail: null,
          url: "https://example.com/",
          retryAfter: null,
          location: null,
          timestampOff: false
        }
      ],
      olderAttempts: false,
      changes: [],
      waiting: { count: 0, oldestDueAt: null },
      backlog: null,
      stopped: { count: 1, since: at, newestId: "whd_1", neverSent: 0, more: false, recovered: 0 },
      missedEvents: { count: 1, more: false, since: at }
    })
    const known = new Map(
      tools.map(({ listed }) => [listed.name, Object.keys(listed.inputSchema.properties)])
    )

    for (const { arguments: given, fillIn, tool } of findings.flatMap(({ nextSteps }) => nextSteps)) {
      if (tool === null) continue
      expect(known.get(tool), tool).toEqual(expect.arrayContaining([...Object.keys(given ?? {}), ...fillIn]))
    }
  })
})

layer(testServer(), { excludeTestServices: true })("diagnosing an endpoint", (it) => {
  it.effect("§4.6 finds 404 since a URL change, from the recorded attempts and audit events", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      yield* deliver(ws, {})
      yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { url: "https://example.com/gone" } })
      const lost = [yield* deliver(ws, refused), yield* deliver(ws, refused), yield* deliver(ws, refused)]

      const diagnosis = yield* diagnosisOf(ws, endpointId)

      expect(diagnosis).toMatchObject({ endpointId, health: "failing", examined: { attempts: 4 } })
      expect(codesOf(diagnosis)).toEqual(["not_found", "stopped_deliveries"])
      expect(diagnosis.findings[0]).toMatchObject({
        inARow: 3,
        confidence: "high",
        changedBefore: { action: "webhook.endpoint_updated", fields: ["url"] },
        deliveryIds: lost.toReversed()
      })
      expect(diagnosis.findings[1]!.deliveryIds).toEqual([lost[2]])
    })
  )

  it.effect("§4.6 finds a wrong timestamp by the answer's text, or by the time of sending", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const said = (observed: Parameters<typeof observe>[2]) =>
        Effect.gen(function* () {
          const endpointId = yield* makeEndpoint(ws)
          for (let n = 0; n < 3; n++)
            yield* deliver(ws, { status: "failed_permanent", httpStatus: 401, ...observed })
          const codes = codesOf(yield* diagnosisOf(ws, endpointId))
          yield* ws.call("DELETE", `/webhooks/${endpointId}`)
          return codes[0]
        })

      expect([
        yield* said({ responseBody: "Message Timestamp too old" }),
        yield* said({ responseBody: '{"error":"timestamp_outside_tolerance"}' }),
        yield* said({ offMs: -600_000 }),
        yield* said({ offMs: 600_000 }),
        yield* said({ responseBody: '{"timestamp":"2026-11-20T12:00:00Z","error":"Unauthorized"}' }),
        yield* said({ offMs: -60_000 })
      ]).toEqual([...Array(4).fill("timestamp_off"), "rejected", "rejected"])
    })
  )

  it.effect(
    "§3.5 says that Retry-After is ignored, unless the endpoint's or the workspace's policy honours it",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const { deliveryId, endpointId } = yield* makeDelivery(ws)
        const asking = {
          status: "failed",
          httpStatus: 503,
          responseHeaders: '{"retry-after":"3600"}'
        } as const
        for (let n = 0; n < 3; n++) yield* observe(ws, deliveryId, asking)
        const found = Effect.map(diagnosisOf(ws, endpointId), (diagnosis) =>
          codesOf(diagnosis).includes("retry_after_ignored")
        )
        const patch = (path: string, policy: object | null) => ws.call("PATCH", path, { body: { policy } })
        const honoured = { honorRetryAfter: true }

        expect(yield* found).toBe(true)
        expect(JSON.stringify(yield* diagnosisOf(ws, endpointId))).toContain("Its lane probes")
        yield* patch("/settings", honoured)
        expect(yield* found).toBe(false)
        yield* patch(`/webhooks/${endpointId}`, { honorRetryAfter: false })
        expect(yield* found).toBe(true)
        yield* patch(`/webhooks/${endpointId}`, honoured)
        expect(yield* found).toBe(false)
      })
  )

  it.effect("§3.5 says when what waits for its rate will have been sent", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const path = `/webhooks/${endpointId}`
      yield* ws.call("PATCH", "/settings", {
        body: { policy: { rateLimit: { requests: 2, perSeconds: 600 } } }
      })
      const backlog = Effect.map(diagnosisOf(ws, endpointId), ({ findings }) =>
        findings.find(({ code }) => code === "rate_limited_backlog")
      )
      yield* Effect.replicateEffect(publish(ws), 4)
      const before = yield* backlog
      yield* sql`insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
        select workspace_id, id, clock_timestamp() - (300 - n) * interval '1 second', n::text
        from posthorn.endpoints, generate_series(0, 60, 60) as n where id = ${endpointId}`
      const found = yield* backlog
      const [last] = yield* sql<{
        at: string
      }>`select max(at)::text as at from posthorn.attempt_starts where endpoint_id = ${endpointId}`
      yield* ws.call("PATCH", path, { body: { policy: { rateLimit: null } } })

      expect(before).toBeUndefined()
      // Two permits in 5 and 6 minutes, and two ten minutes later.
      const until = new Date(Date.parse(last!.at) + 2 * 600_000).toISOString()
      expect(found?.summary).toBe(
        `4 deliveries wait for the endpoint's rate of 2 in 600 s; the last is sent at about ${until}.`
      )
      expect(yield* backlog).toBeUndefined()
    })
  )

  it.effect("§4.6 counts deliveries that stopped, without those that were replayed", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const lost = yield* deliver(ws, refused)
      yield* deliver(ws, refused)
      const before = yield* diagnosisOf(ws, endpointId)

      yield* ws.call("POST", `/webhooks/deliveries/${lost}/replay`)

      const after = yield* diagnosisOf(ws, endpointId)
      const said = (diagnosis: Diagnosed) =>
        diagnosis.findings.find(({ code }) => code === "stopped_deliveries")
      expect(said(before)?.summary).toBe("2 deliveries stopped without being delivered.")
      expect(said(after)?.summary).toBe("1 delivery stopped without being delivered.")
    })
  )

  it.effect("§4.6 counts all that is lost, however much, and gives the call that replays it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws, { eventTypes: ["invoice.paid"] })
      const other = yield* makeEndpoint(ws, { eventTypes: ["other"] })
      const enable = (enabled: boolean) => ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled } })
      // Missed while it was disabled the first time.
      yield* enable(false)
      const first = yield* publish(ws)
      yield* enable(true)
      const batch = (count: number, eventType = "invoice.paid") =>
        ws.call("POST", "/events/batch", { body: { events: Array(count).fill({ eventType, payload: 1 }) } })
      yield* batch(700)
      yield* batch(3, "other")
      yield* sql`update posthorn.deliveries set status = 'failed_permanent' where workspace_id = ${ws.workspaceId}`
      // A delivery that is still retried is not lost, nor is a test send.
      const [waits, replayed] = yield* sql<{ id: string }>`update posthorn.deliveries set status = 'failed'
        where (workspace_id, id) in (select workspace_id, id from posthorn.deliveries
          where workspace_id = ${ws.workspaceId} and endpoint_id = ${endpointId} order by id limit 2) returning id`
      yield* sql`update posthorn.deliveries set status = 'failed_permanent' where id = ${replayed!.id}`
      yield* ws.call("POST", `/webhooks/deliveries/${replayed!.id}/replay`)
      yield* ws.call("POST", `/webhooks/${endpointId}/test-event`)
      yield* sql`update posthorn.deliveries set status = 'failed_permanent'
        where workspace_id = ${ws.workspaceId} and event_id is null`
      yield* enable(false)
      yield* publish(ws)

      const diagnosis = yield* diagnosisOf(ws, endpointId)
      const elsewhere = yield* diagnosisOf(ws, other)
      const found = (code: string) => diagnosis.findings.find((one) => one.code === code)!
      const { body: detail } = yield* ws.call("GET", `/events/${first.id}`)
      const [count, start] = found("stopped_deliveries").nextSteps

      expect(waits!.id).not.toBe(replayed!.id)
      expect(found("stopped_deliveries").summary).toBe("698 deliveries stopped without being delivered.")
      expect(found("missed_events").summary).toMatch(/^2 events matched/)
      expect(count).toMatchObject({
        operation: "startReplay",
        arguments: { endpointId, since: detail.createdAt, includeMissed: true, dryRun: true }
      })
      expect(start).toMatchObject({ arguments: { endpointId, includeMissed: true }, fillIn: ["since"] })
      expect(elsewhere.findings.find(({ code }) => code === "stopped_deliveries")!.summary).toMatch(/^3 /)
      expect(codesOf(elsewhere)).not.toContain("missed_events")
    })
  )

  it.effect("§4.6 counts to 10,000, and says when there may be more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      yield* sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, created_at)
        select ${ws.workspaceId}, posthorn.new_id('whd_'), ${endpointId}, posthorn.new_id('evt_'), 'a.b', 't', now()
        from generate_series(1, 10010)`
      yield* sql`update posthorn.deliveries set status = 'dead_lettered' where endpoint_id = ${endpointId}`

      const { findings } = yield* diagnosisOf(ws, endpointId)

      expect(findings.at(-1)).toMatchObject({
        code: "stopped_deliveries",
        summary: "10000 deliveries or more stopped without being delivered."
      })
    })
  )

  it.effect("§3.4 reports a disabled endpoint, the cause, and the events it missed", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      for (let failures = 0; failures < 20; failures++) yield* deliver(ws, refused)
      yield* publish(ws)

      const diagnosis = yield* diagnosisOf(ws, endpointId)

      expect(diagnosis.health).toBe("disabled")
      expect(codesOf(diagnosis)).toEqual([
        "not_found",
        "disabled_by_failures",
        "stopped_deliveries",
        "missed_events"
      ])
      expect(diagnosis.findings[1]).toMatchObject({
        inARow: 20,
        changedBefore: { action: "webhook.endpoint_auto_disabled" }
      })
    })
  )

  it.effect("§2.8 says why a stored URL is refused after the rules have changed", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const endpointId = yield* makeEndpoint(ws)
      yield* sql`update posthorn.endpoints set url = 'https://10.0.0.1/hook' where id = ${endpointId}`
      const { deliveryIds } = yield* publish(ws)
      yield* sql`insert into posthorn.attempts (workspace_id, delivery_id, ordinal, id, status, at, duration_ms,
          failure_reason, url, request_headers, trace_id)
        values (${ws.workspaceId}, ${deliveryIds[0]!}, 1, 'wha_1', 'failed_permanent', now(), 0, 'invalid_url',
          'https://10.0.0.1/hook', '{}', 't')`
      yield* sql`update posthorn.deliveries set attempts = 1 where id = ${deliveryIds[0]!}`

      const { findings } = yield* diagnosisOf(ws, endpointId)

      expect(findings[0]).toMatchObject({ code: "url_refused", reason: "invalid_url" })
      expect(findings[0]!.because).toContain("Only one attempt has failed")
    }).pipe(Effect.orDie)
  )

  it.effect("§4.6 finds failures behind a backlog, whatever waits in front of them", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      for (let n = 0; n < 3; n++) yield* deliver(ws, { status: "failed" })
      const events = Array.from({ length: 700 }, () => ({ eventType: "invoice.paid", payload: 1 }))
      expect((yield* ws.call("POST", "/events/batch", { body: { events } })).status).toBe(202)
      const behind = yield* diagnosisOf(ws, endpointId)
      expect(behind.examined.attempts).toBe(3)
      expect(behind).toMatchObject({ health: "failing", findings: [{ code: "server_error", inARow: 3 }] })

      const sql = yield* SqlClient
      yield* sql`delete from posthorn.deliveries where workspace_id = ${ws.workspaceId} and attempts > 0`
      const removed = yield* diagnosisOf(ws, endpointId)
      expect(removed).toMatchObject({
        health: "failing",
        findings: [{ code: "nothing_sent", confidence: "low" }]
      })
      expect(removed.findings[0]!.summary).toContain("3")
    }).pipe(Effect.orDie)
  )

  it.effect("§4.6 reveals nothing of another workspace's endpoint, and says when there are no attempts", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const endpointId = yield* makeEndpoint(ws)

      const foreign = yield* other.call("GET", `/webhooks/${endpointId}/diagnosis`)
      const fresh = yield* diagnosisOf(ws, endpointId)

      expect([foreign.status, foreign.body._tag]).toEqual([404, "WebhookEndpointNotFound"])
      expect(fresh).toMatchObject({ health: "unproven", examined: { attempts: 0, since: null } })
      expect(codesOf(fresh)).toEqual(["nothing_sent"])
    })
  )

  it.effect("§4.6 reads published types, and reports subscriptions that match none of them", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws, { eventTypes: ["invoice.*"] })
      yield* deliver(ws, {})
      const before = yield* diagnosisOf(ws, endpointId)
      yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { eventTypes: ["order.*"] } })
      yield* publish(ws)

      const after = yield* diagnosisOf(ws, endpointId)

      expect([before.health, codesOf(before)]).toEqual(["healthy", ["healthy"]])
      expect([after.health, codesOf(after)]).toEqual(["unproven", ["nothing_matches"]])
      expect(after.findings[0]).toMatchObject({
        changedBefore: { fields: ["eventTypes"] },
        because: "It subscribes to order.*. Published in the last 30 days: invoice.paid."
      })
    })
  )

  it.effect("§4.6 knows who may have the first secret: whoever had it revealed, or brought it along", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const summaryOf = (more: Readonly<Record<string, unknown>>) =>
        Effect.gen(function* () {
          const endpointId = yield* makeEndpoint(ws, more)
          yield* deliver(ws, { status: "failed_permanent", httpStatus: 401 })
          const { findings } = yield* diagnosisOf(ws, endpointId)
          yield* ws.call("DELETE", `/webhooks/${endpointId}`)
          return findings[0]!.summary
        })
      const signingSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`

      expect(yield* summaryOf({})).toContain("nobody has seen")
      for (const more of [{ revealSecret: true }, { signingSecret }])
        expect(yield* summaryOf(more)).not.toContain("nobody has seen")
    })
  )

  it.effect("§4.6 reports a signing secret that no master key of this server opens", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const endpointId = yield* makeEndpoint(ws)
      yield* deliver(ws, {})
      const sealed = SecretBox.make([Redacted.make(new Uint8Array(32).fill(9))]).seal(
        { workspaceId: ws.workspaceId, endpointId },
        Redacted.make("whsec_AAAA")
      )
      yield* sql`update posthorn.endpoints set secret = ${sealed} where id = ${endpointId}`

      const diagnosis = yield* diagnosisOf(ws, endpointId)

      expect([diagnosis.health, codesOf(diagnosis)]).toEqual(["failing", ["secret_unreadable"]])
    }).pipe(Effect.orDie)
  )

  it.effect("§5.1 needs webhook:list; read is not enough", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const reader = yield* ws.tokenWith("read")

      const answer = yield* ws.call("GET", `/webhooks/${endpointId}/diagnosis`, { token: reader })

      expect(answer).toMatchObject({ status: 403, body: { permission: "webhook:list" } })
    })
  )

  it.effect("§4.6 an endpoint whose filter lets nothing through is found by judging what was published", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws, { filter: { total: { $gt: 1000.5 } } })
      const events = Array.from({ length: 60 }, () => ({ eventType: "invoice.paid", payload: { total: 7 } }))
      yield* ws.call("POST", "/events/batch", { body: { events } })
      const diagnosed = ws.call("GET", `/webhooks/${endpointId}/diagnosis`)

      const { body } = yield* diagnosed
      expect(body.findings).toContainEqual(
        expect.objectContaining({
          code: "filter_excludes_everything",
          because: expect.stringContaining('{"$gt":1000.5} does not hold at /total')
        })
      )
      yield* publish(ws, "invoice.paid", { total: 2000 })
      expect(JSON.stringify((yield* diagnosed).body.findings)).not.toContain("filter_excludes_everything")
    })
  )
})
