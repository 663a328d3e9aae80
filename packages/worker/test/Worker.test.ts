import * as SqlClient from "@effect/sql/SqlClient"
import { layer } from "@effect/vitest"
import { JsonText } from "@posthorn/domain/JsonText"
import { DeliveriesRepo } from "@posthorn/persistence/repositories/DeliveriesRepo"
import { generateSecret, verify } from "@posthorn/signature"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { expect } from "vitest"
import {
  attempts,
  box,
  deliveries,
  disable,
  drained,
  enable,
  endpoint,
  endpointRow,
  publish,
  queued,
  Setting,
  statuses,
  until,
  type Workspace,
  worker,
  workspace
} from "./Setting.ts"

const headersOf = (request: { readonly headers: ReadonlyArray<readonly [string, string]> }) =>
  Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]))

layer(Setting, { excludeTestServices: true })("the worker", (it) => {
  it.scoped("§4.1 sends what was published, signed, and keeps the evidence", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { secret } = yield* endpoint(acme, receiver.url("/status/200"))
      const [id] = yield* publish(acme)

      yield* worker()
      const [request] = yield* receiver.waitFor(1)

      const headers = headersOf(request!)
      expect(verify({ secrets: [secret], headers, body: request!.body }).id).toBe(id)
      expect(request!.body.toString()).toBe(
        `{"deliveryId":"${id}","eventType":"invoice.paid","payload":{"total": 1e3}}`
      )
      expect(headers["user-agent"]).toBe("Posthorn/0.0.0-test")
      yield* drained(acme)
      expect(yield* deliveries(acme)).toMatchObject([
        { id, status: "delivered", attempts: 1, last_http_status: 200, next_attempt_at: null }
      ])
      const [attempt] = yield* attempts(acme)
      expect(attempt).toMatchObject({
        delivery_id: id,
        ordinal: 1,
        status: "delivered",
        failure_reason: null
      })
      expect(JSON.parse(attempt!.request_headers)).toEqual({
        "content-type": "application/json",
        "user-agent": "Posthorn/0.0.0-test",
        "accept-encoding": "identity",
        "webhook-id": id,
        "webhook-timestamp": headers["webhook-timestamp"],
        "webhook-signature": headers["webhook-signature"],
        "x-trace-id": attempt!.trace_id
      })
    })
  )

  it.scoped("§4.1 marks a test send as one, for the receiver and in the evidence", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, receiver.url("/status/200"))
      const { insertTestSend } = yield* DeliveriesRepo
      const { test } = yield* insertTestSend(acme.id, {
        endpointId,
        eventType: "invoice.paid",
        payload: new JsonText("1"),
        actor: { type: "operator", id: "operator", via: "rest" },
        traceId: "0af7651916cd43dd8448eb211c80319c"
      })

      yield* worker()
      const [request] = yield* receiver.waitFor(1)
      yield* drained(acme)
      const [attempt] = yield* attempts(acme)

      expect([test, headersOf(request!)["x-posthorn-test"]]).toEqual([true, "true"])
      expect(JSON.parse(attempt!.request_headers)).toMatchObject({
        "x-trace-id": "0af7651916cd43dd8448eb211c80319c",
        "x-posthorn-test": "true"
      })
    }).pipe(Effect.provide(DeliveriesRepo.Default))
  )

  it.scoped("§4.5 keeps with each attempt its URL and the headers that explain the outcome", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const refused = yield* workspace
      yield* endpoint(acme, receiver.url("/redirect/308"))
      yield* endpoint(refused, "https://10.0.0.1/hook")
      yield* publish(acme)
      yield* publish(refused)

      yield* worker()
      const first = (where: Workspace) => until(attempts(where), (rows) => rows.length > 0)

      const [[sent], [unsent]] = [yield* first(acme), yield* first(refused)]
      expect(sent!.url).toBe(receiver.url("/redirect/308"))
      expect(JSON.parse(sent!.response_headers!)).toMatchObject({ location: "/trap" })
      expect(unsent).toMatchObject({
        failure_reason: "invalid_url",
        url: "https://10.0.0.1/hook",
        response_headers: null
      })
      yield* drained(acme)
    })
  )

  it.scoped("§3.1 retries after 500, and keeps the failed attempts when the delivery succeeds", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, receiver.url("/schedule/500-429-200"))
      const [id] = yield* publish(acme)

      yield* worker()
      yield* drained(acme)

      expect(yield* deliveries(acme)).toMatchObject([{ id, status: "delivered", attempts: 3 }])
      expect((yield* attempts(acme)).map((one) => [one.ordinal, one.status, one.http_status])).toEqual([
        [1, "failed", 500],
        [2, "failed", 429],
        [3, "delivered", 200]
      ])
      expect(new Set(receiver.received.map((request) => headersOf(request)["webhook-id"]))).toEqual(
        new Set([id])
      )
      expect(yield* endpointRow(endpointId)).toMatchObject({ consecutive_failures: 0 })
    })
  )

  it.scoped("§3.1 gives up after six retries: dead letter, notification, nothing else counted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, receiver.url("/status/503"))
      const [id] = yield* publish(acme)

      yield* worker({ retryDelayMs: 1 })
      yield* until(statuses(acme), ([status]) => status === "dead_lettered")

      expect(receiver.received).toHaveLength(7)
      expect(yield* attempts(acme)).toHaveLength(7)
      expect(yield* deliveries(acme)).toMatchObject([
        { attempts: 7, last_http_status: 503, last_failure_reason: "http_status", next_attempt_at: null }
      ])
      expect(yield* endpointRow(endpointId)).toMatchObject({ consecutive_failures: 7, enabled: true })
      expect(
        yield* sql`select kind, endpoint_id, delivery_id from posthorn.notifications where workspace_id = ${acme.id}`
      ).toEqual([{ kind: "delivery_dead_lettered", endpoint_id: endpointId, delivery_id: id }])
    })
  )

  it.scoped("§3.1 makes one attempt for a publish without retries; a replay of it follows the policy", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, receiver.url("/status/503"))
      const [{ ids }] = yield* sql<{ ids: ReadonlyArray<string> }>`
        select delivery_ids as ids from posthorn.publish(${acme.slug}, 'invoice.paid', '1', retry => false)`.pipe(
        Effect.map(([row]) => [row!] as const)
      )

      yield* worker({ retryDelayMs: 1 })
      yield* until(statuses(acme), ([status]) => status === "dead_lettered")
      expect(yield* attempts(acme)).toHaveLength(1)
      yield* sql`select posthorn.replay(${acme.id}, ${endpointId}, ${ids}, '{}', null, 'operator', 'operator', 'rest',
        '0af7651916cd43dd8448eb211c80319c', null, null, null)`
      yield* until(statuses(acme), (all) => all.join() === "dead_lettered,dead_lettered")

      expect(receiver.received).toHaveLength(8)
    })
  )

  it.scoped("§3.1 does not retry after 404, nor after a refused URL, to which it opens no connection", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/status/404"), "a.gone")
      yield* endpoint(acme, `http://localhost:${receiver.port}/`, "a.refused")
      yield* publish(acme, 1, "a.gone")
      yield* publish(acme, 1, "a.refused")

      yield* worker()
      yield* drained(acme)

      expect(yield* deliveries(acme)).toMatchObject([
        {
          status: "failed_permanent",
          attempts: 1,
          last_http_status: 404,
          last_failure_reason: "http_status"
        },
        {
          status: "failed_permanent",
          attempts: 1,
          last_http_status: null,
          last_failure_reason: "invalid_url"
        }
      ])
      expect(receiver.connections.opened).toBe(1)
    })
  )

  it.scoped(
    "§3.2 disables at 20 failures in a row, with one audit event; waiting deliveries continue once it is enabled",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        const { id: endpointId } = yield* endpoint(acme, receiver.url("/status/404"))
        yield* publish(acme, 40)

        yield* worker({ endpointConcurrency: 1 })
        yield* until(endpointRow(endpointId), (row) => !row.enabled)
        expect(receiver.received).toHaveLength(20)
        expect(yield* endpointRow(endpointId)).toMatchObject({ disabled_reason: "consecutive_failures" })
        expect(
          yield* sql`select action, target_id from posthorn.audit_events where workspace_id = ${acme.id}`
        ).toEqual([{ action: "webhook.endpoint_auto_disabled", target_id: endpointId }])

        yield* sql`update posthorn.endpoints set url = ${receiver.url("/status/200")} where id = ${endpointId}`
        yield* enable(endpointId)
        yield* drained(acme)

        expect((yield* statuses(acme)).filter((status) => status === "delivered")).toHaveLength(20)
      })
  )

  it.scoped("§4.6 the disabling reports what is lost, and the call that replays it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, receiver.url("/status/404"))
      // Lost before, and missed; those of other endpoints do not count.
      const { id: other } = yield* endpoint(acme, receiver.url("/status/200"))
      const [before] = yield* publish(acme)
      yield* sql`update posthorn.deliveries set status = 'dead_lettered' where workspace_id = ${acme.id}`
      yield* disable(endpointId)
      yield* disable(other)
      yield* publish(acme, 2)
      yield* enable(endpointId)
      yield* publish(acme, 25)

      yield* worker({ endpointConcurrency: 1 })
      yield* until(endpointRow(endpointId), (row) => !row.enabled)
      const [told] = yield* sql<{ message: string }>`select message from posthorn.notifications
        where workspace_id = ${acme.id} and kind = 'endpoint_disabled'`
      const [{ at } = { at: "" }] = yield* sql<{ at: string }>`
        select created_at as at from posthorn.deliveries where workspace_id = ${acme.id} and id = ${before!}`

      expect(told!.message).toBe(
        `Endpoint ${endpointId} was disabled after 20 failures in a row. Lost so far: 21 deliveries given up, 2 events missed; ` +
          "events that are published while it is disabled are missed too. Fix the receiver and enable the endpoint; then " +
          `this sends all of it again: POST /workspaces/${acme.slug}/webhooks/${endpointId}/replays with ` +
          `{"since":"${at}","includeMissed":true} (add "dryRun":true to count first).`
      )
    })
  )

  it.scoped("§3.2 starts nothing for a disabled endpoint and finishes what is in flight", () =>
    Effect.gen(function* () {
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({
        behaviours: { "/held": (answer) => void open.push(() => answer.reply(200)) }
      })
      const acme = yield* workspace
      const { id: endpointId } = yield* endpoint(acme, receiver.url("/held"))
      yield* publish(acme, 5)

      yield* worker({ endpointConcurrency: 2, requestTimeoutMs: 10_000 })
      yield* receiver.waitFor(2)
      yield* disable(endpointId)
      for (const answer of open.splice(0)) answer()
      yield* until(queued(acme), (n) => n === 3)
      yield* publish(acme, 1)
      expect(receiver.received).toHaveLength(2)
      yield* enable(endpointId)
      yield* receiver.waitFor(4)
      for (const answer of open.splice(0)) answer()
      yield* receiver.waitFor(5)
      for (const answer of open.splice(0)) answer()

      yield* drained(acme)
      expect((yield* attempts(acme)).length).toBe(5)
    })
  )

  it.scoped(
    "§3.3 signs with the new and the old secret within the grace window, and only with the new one after",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const receiver = yield* makeReceiver()
        const acme = yield* workspace
        const { id: endpointId, secret: old } = yield* endpoint(acme, receiver.url("/status/200"))
        const fresh = generateSecret()
        const sealed = box.seal({ workspaceId: acme.id, endpointId }, Redacted.make(fresh))
        yield* sql`update posthorn.endpoints set previous_secret = secret, secret = ${sealed},
        previous_secret_expires_at = now() + interval '24 hours' where id = ${endpointId}`

        yield* worker()
        yield* publish(acme)
        const [first] = yield* receiver.waitFor(1)
        yield* sql`update posthorn.endpoints set previous_secret_expires_at = now() where id = ${endpointId}`
        yield* publish(acme)
        const [, second] = yield* receiver.waitFor(2)

        const entries = headersOf(first!)["webhook-signature"]!.split(" ")
        expect(entries).toHaveLength(2)
        const only = (entry: string) => ({ ...headersOf(first!), "webhook-signature": entry })
        verify({ secrets: [fresh], headers: only(entries[0]!), body: first!.body })
        verify({ secrets: [old], headers: only(entries[1]!), body: first!.body })
        expect(headersOf(second!)["webhook-signature"]!.split(" ")).toHaveLength(1)
        verify({ secrets: [fresh], headers: headersOf(second!), body: second!.body })
      })
  )

  it.scoped("§3.4 finds at once what a slow transaction publishes behind later ones", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoint(acme, receiver.url("/status/200"), "a.slow")
      yield* endpoint(acme, receiver.url("/status/201"), "a.quick")
      const sql = yield* SqlClient.SqlClient
      yield* worker()

      const published = yield* Deferred.make<void>()
      const commit = yield* Deferred.make<void>()
      const slow = yield* publish(acme, 1, "a.slow").pipe(
        Effect.zipRight(Deferred.succeed(published, undefined)),
        Effect.zipRight(Deferred.await(commit)),
        sql.withTransaction,
        Effect.fork
      )
      yield* Deferred.await(published)
      yield* publish(acme, 1, "a.quick")
      yield* until(statuses(acme), (all) => all.join() === "delivered")
      yield* Deferred.succeed(commit, undefined)
      yield* Fiber.join(slow)

      // Polls continue from their cursor: without the hint only the sweep, half a minute later, would find the row.
      yield* until(statuses(acme), (all) => all.join() === "delivered,delivered")
    })
  )

  it.scoped(
    "§6 stops gracefully: requests in flight are finished and recorded, nothing else is started or repeated",
    () =>
      Effect.gen(function* () {
        const open: Array<() => void> = []
        const receiver = yield* makeReceiver({
          behaviours: { "/held": (answer) => void open.push(() => answer.reply(200)) }
        })
        const acme = yield* workspace
        yield* endpoint(acme, receiver.url("/held"))
        yield* publish(acme, 30)

        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* worker({ requestTimeoutMs: 10_000 })
            yield* receiver.waitFor(2)
            // Finalizers run in reverse order: this one before the worker's own, so the answers come while it is stopping.
            yield* Effect.addFinalizer(() =>
              Effect.sync(() => {
                for (const answer of open.splice(0)) setImmediate(answer)
              })
            )
          })
        )

        const sent = receiver.received.length
        expect(yield* attempts(acme)).toHaveLength(sent)
        expect(yield* queued(acme)).toBe(30 - sent)
        const sql = yield* SqlClient.SqlClient
        expect(yield* sql`select shard from posthorn.shards where owner is not null`).toEqual([])
      })
  )
})
