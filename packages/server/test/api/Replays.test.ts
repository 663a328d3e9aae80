/** Replay jobs as a caller sees them. worker/test/loops/Replays.test.ts tests how workers make the replays. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeDelivery, makeEndpoint, observe, publish, unknown } from "../Fixtures.ts"
import { type Entered, type Loose, TestServer, testServer } from "../TestServer.ts"

const SINCE = "2026-01-01T00:00:00.000Z"

/** An endpoint with one delivery of each status, ended or waiting, and one missed event. */
const outage = (ws: Entered) =>
  Effect.gen(function* () {
    const endpointId = yield* makeEndpoint(ws)
    const deliver = (status: "delivered" | "failed" | "failed_permanent") =>
      Effect.flatMap(publish(ws), ({ deliveryIds }) =>
        Effect.as(observe(ws, deliveryIds[0]!, { status }), deliveryIds[0]!)
      )
    yield* deliver("delivered")
    yield* publish(ws)
    const failed = yield* deliver("failed")
    const refused = yield* deliver("failed_permanent")
    yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })
    yield* publish(ws)
    return { endpointId, failed, refused }
  })

const NOTHING = { recovered: 0, underWay: 0, tests: 0 }

const enable = (ws: Entered, endpointId: string) =>
  ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: true } })

layer(testServer(), { excludeTestServices: true })("replay jobs", (it) => {
  const entered = Effect.flatMap(TestServer, ({ enter }) => enter)

  it.effect("§4.6 first counts, even while the endpoint is disabled, and stores nothing", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { endpointId } = yield* outage(ws)
      const count = (body: object) =>
        Effect.map(
          ws.call("POST", `/webhooks/${endpointId}/replays`, {
            body: { since: SINCE, dryRun: true, ...body }
          }),
          ({ body, headers, status }) => [status, body, headers.get("location")]
        )

      expect(yield* count({})).toEqual([200, { matched: 1, missed: 0, unsent: 0, leftOut: NOTHING }, null])
      expect(yield* count({ includeMissed: true })).toEqual([
        200,
        { matched: 2, missed: 1, unsent: 0, leftOut: NOTHING },
        null
      ])
      expect(yield* count({ statuses: ["failed", "failed_permanent"] })).toEqual([
        200,
        { matched: 2, missed: 0, unsent: 0, leftOut: NOTHING },
        null
      ])
      expect(yield* count({ since: "2100-01-01T00:00:00Z", includeMissed: true })).toEqual([
        200,
        { matched: 0, missed: 0, unsent: 0, leftOut: NOTHING },
        null
      ])
      expect(yield* count({ until: SINCE, includeMissed: true })).toEqual([
        200,
        { matched: 0, missed: 0, unsent: 0, leftOut: NOTHING },
        null
      ])
      expect((yield* ws.call("GET", "/webhooks/replays")).body.items).toEqual([])
    })
  )

  it.effect("§4.6 starts a job on an enabled endpoint only, returns it, and lists it", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { endpointId } = yield* outage(ws)
      const start = ws.call("POST", `/webhooks/${endpointId}/replays`, {
        body: { since: SINCE, includeMissed: true }
      })

      const refused = yield* start
      yield* enable(ws, endpointId)
      const started = yield* start
      const id = started.body.id
      const read = yield* ws.call("GET", `/webhooks/replays/${id}`)
      const listed = yield* ws.call("GET", "/webhooks/replays")
      const audit = yield* ws.call("GET", "/audit-events?limit=1")

      expect([refused.status, refused.body._tag]).toEqual([409, "WebhookEndpointDisabled"])
      expect(started.status).toBe(202)
      expect(started.headers.get("location")).toContain(`/workspaces/${ws.slug}/webhooks/replays/${id}`)
      expect(started.body).toEqual({
        id: expect.stringMatching(/^rpl_[0-9a-f]{29}$/),
        endpointId,
        statuses: ["failed_permanent", "dead_lettered"],
        since: SINCE,
        until: null,
        state: "running",
        matched: 2,
        missed: 1,
        unsent: 0,
        leftOut: NOTHING,
        replayed: 0,
        failed: 0,
        createdAt: expect.stringMatching(/Z$/),
        finishedAt: null
      })
      expect(read.body).toEqual(started.body)
      expect(listed.body.items).toEqual([started.body])
      expect(audit.body.items[0]).toMatchObject({
        action: "webhook.replay_started",
        target: { type: "replay", id },
        changes: { fields: [], endpointId, since: SINCE, matched: 2, missed: 1 }
      })
    })
  )

  it.effect(
    "§4.6 knows what was recovered: lists, counts, the overview and the diagnosis leave it out, and say so",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const { endpointId, refused } = yield* outage(ws)
        yield* enable(ws, endpointId)
        const count = (body: object = {}) =>
          Effect.map(
            ws.call("POST", `/webhooks/${endpointId}/replays`, {
              body: { since: SINCE, dryRun: true, ...body }
            }),
            (answer) => answer.body
          )
        const recoveredBy = Effect.map(
          ws.call("GET", `/webhooks/deliveries/${refused}`),
          ({ body }) => body.recoveredBy
        )
        const listed = (recovered: boolean) =>
          Effect.map(ws.call("GET", `/webhooks/deliveries?recovered=${recovered}`), ({ body }) =>
            (body.items as ReadonlyArray<Loose>).map(({ id }) => id)
          )

        expect(yield* recoveredBy).toBeNull()
        expect(yield* listed(true)).toEqual([])
        const { body: replay } = yield* ws.call("POST", `/webhooks/deliveries/${refused}/replay`)
        expect(yield* count()).toEqual({
          matched: 0,
          missed: 0,
          unsent: 0,
          leftOut: { ...NOTHING, underWay: 1 }
        })
        yield* observe(ws, replay.id as string, { status: "delivered" })

        expect(yield* recoveredBy).toBe(replay.id)
        expect(yield* listed(true)).toEqual([refused])
        expect(yield* listed(false)).not.toContain(refused)
        expect(yield* count()).toEqual({
          matched: 0,
          missed: 0,
          unsent: 0,
          leftOut: { ...NOTHING, recovered: 1 }
        })
        expect(yield* count({ includeRecovered: true })).toEqual({
          matched: 1,
          missed: 0,
          unsent: 0,
          leftOut: NOTHING
        })
        const { body: overview } = yield* ws.call("GET", "/overview")
        expect(overview.deliveries).toMatchObject({ failedPermanent: 1, givenUp: 0, recovered: 1 })
        const { body: diagnosis } = yield* ws.call("GET", `/webhooks/${endpointId}/diagnosis`)
        const codes = (diagnosis.findings as ReadonlyArray<Loose>).map(({ code }) => code)
        expect(codes).not.toContain("stopped_deliveries")
      })
  )

  it.effect("§4.6 starts one job for one idempotency key, and does not keep counts under it", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { endpointId } = yield* outage(ws)
      yield* enable(ws, endpointId)
      const start = (dryRun: boolean) =>
        ws.call("POST", `/webhooks/${endpointId}/replays`, {
          body: { since: SINCE, dryRun },
          headers: { "idempotency-key": "the-outage" }
        })

      const counted = yield* start(true)
      const first = yield* start(false)
      const again = yield* start(false)
      const jobs = yield* ws.call("GET", "/webhooks/replays")

      expect([counted.status, first.status, again.status]).toEqual([200, 202, 202])
      expect(again.headers.get("idempotent-replayed")).toBe("true")
      expect(again.body).toEqual(first.body)
      expect(jobs.body.items).toHaveLength(1)
    })
  )

  it.effect("§4.6 cancels a job once, and leaves one that has ended unchanged", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { endpointId } = yield* outage(ws)
      yield* enable(ws, endpointId)
      const { body: job } = yield* ws.call("POST", `/webhooks/${endpointId}/replays`, {
        body: { since: SINCE }
      })
      const cancel = ws.call("DELETE", `/webhooks/replays/${job.id}`)

      const first = yield* cancel
      const second = yield* cancel
      const audit = yield* ws.call("GET", "/audit-events?limit=50")

      expect([first.status, first.body.state]).toEqual([200, "cancelled"])
      expect(first.body.finishedAt).toEqual(expect.any(String))
      expect(second.body).toEqual(first.body)
      expect(
        audit.body.items.filter((item: Loose) => item.action === "webhook.replay_cancelled")
      ).toHaveLength(1)
    })
  )

  it.effect("§4.6 removes jobs with their endpoint, and starts none on a deleted endpoint", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { endpointId } = yield* outage(ws)
      yield* enable(ws, endpointId)
      const path = `/webhooks/${endpointId}/replays`
      const { body: job } = yield* ws.call("POST", path, { body: { since: SINCE } })

      yield* ws.call("DELETE", `/webhooks/${endpointId}`)
      const after = [
        yield* ws.call("GET", `/webhooks/replays/${job.id}`),
        yield* ws.call("DELETE", `/webhooks/replays/${job.id}`),
        yield* ws.call("POST", path, { body: { since: SINCE } }),
        yield* ws.call("POST", path, { body: { since: SINCE, dryRun: true } })
      ]
      const left = yield* ws.call("GET", "/webhooks/replays")

      expect(after.map(({ body }) => body._tag)).toEqual([
        ...["ReplayNotFound", "ReplayNotFound"],
        ...["WebhookEndpointNotFound", "WebhookEndpointNotFound"]
      ])
      expect(left.body.items).toEqual([])
    })
  )

  it.effect("§4.6 refuses impossible ranges, and does not find another workspace's job", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { endpointId } = yield* makeDelivery(ws)
      const start = (body: object) => ws.call("POST", `/webhooks/${endpointId}/replays`, { body })
      const pathsOf = ({ body }: { readonly body: Loose }) =>
        (body.issues as ReadonlyArray<{ path: string }>).map(({ path }) => path)

      expect(pathsOf(yield* start({}))).toEqual(["/since"])
      expect(pathsOf(yield* start({ since: "yesterday", statuses: ["delivered"] }))).toEqual([
        "/statuses/0",
        "/since"
      ])
      expect(pathsOf(yield* start({ since: SINCE, statuses: [] }))).toEqual(["/statuses"])
      expect(pathsOf(yield* start({ since: SINCE, limit: 5 }))).toEqual(["/limit"])
      const missing = yield* ws.call("POST", `/webhooks/${unknown("whe_")}/replays`, {
        body: { since: SINCE }
      })
      const job = yield* ws.call("GET", `/webhooks/replays/${unknown("rpl_")}`)
      expect([missing.body._tag, job.body._tag]).toEqual(["WebhookEndpointNotFound", "ReplayNotFound"])
      const weak = yield* ws.tokenWith("read")
      const { call } = yield* TestServer
      const path = `/workspaces/${ws.slug}/webhooks/${endpointId}/replays`
      const forbidden = yield* call("POST", path, { token: weak, body: { since: SINCE } })
      expect(forbidden.body).toMatchObject({ _tag: "Forbidden", permission: "webhook:replay" })
    })
  )

  it.effect("§4.6 counts and starts what a new endpoint has not seen, and says where counting ends", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const other = yield* makeEndpoint(ws)
      for (const eventType of ["invoice.paid", "invoice.paid", "invoice.voided"])
        yield* publish(ws, eventType)
      const filter = { kind: "b" }
      const named = { eventType: "invoice.paid", payload: filter, endpointIds: [other] }
      yield* ws.call("POST", "/events", { body: named })
      const { id: last } = yield* publish(ws, "invoice.paid", filter)
      const endpointId = yield* makeEndpoint(ws, { eventTypes: ["invoice.paid"] })
      const replays = (body: object) =>
        Effect.map(
          ws.call("POST", `/webhooks/${endpointId}/replays`, {
            body: { since: SINCE, includeUnsent: true, ...body }
          }),
          ({ body }) => body
        )

      expect(yield* replays({ dryRun: true })).toEqual({ matched: 3, missed: 0, unsent: 3, leftOut: NOTHING })
      expect(yield* replays({ dryRun: true, includeUnsent: false })).toMatchObject({ matched: 0, unsent: 0 })
      yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { filter } })
      expect(yield* replays({ includeMissed: true })).toMatchObject({
        matched: 1,
        unsent: 1,
        state: "running"
      })
      const { reason } = (yield* ws.call("GET", `/events/${last}/routing?endpointId=${endpointId}`)).body
        .items[0]!
      expect(reason).toBe("created_later")
    })
  )

  it.effect("§6.1 unsent events whose payload the caller may not see are neither counted nor sent", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const sql = yield* SqlClient
      const ws = yield* entered
      yield* ws.call("POST", "/members", { body: { email: "z@example.com", name: "Z", role: "viewer" } })
      yield* publish(ws)
      const weak = yield* ws.tokenWith("webhook:replay", "token:list")
      const endpointId = yield* makeEndpoint(ws, { eventTypes: ["*"] })
      const replays = (token: string, body: object) =>
        Effect.map(
          call("POST", `/workspaces/${ws.slug}/webhooks/${endpointId}/replays`, {
            token,
            body: { since: SINCE, includeUnsent: true, ...body }
          }),
          ({ body }) => body
        )
      const all = yield* replays(ws.token, { dryRun: true })
      const seen = yield* replays(weak, { dryRun: true })
      const job = yield* replays(weak, {})
      for (const _ of [1, 2, 3]) yield* sql`select posthorn.replay_step(${ws.workspaceId}, ${job.id}, 10, 10)`
      const sent = yield* sql`select event_type from posthorn.deliveries where endpoint_id = ${endpointId}
        group by event_type order by event_type`

      expect([Number(all.unsent) - Number(seen.unsent), job.unsent]).toEqual([1, seen.unsent])
      expect(sent).toEqual([{ event_type: "api_token.created" }, { event_type: "invoice.paid" }])
    }).pipe(Effect.orDie)
  )
})
