/**
 * A console session that is limited to some endpoints of its workspace, beside others with everything that endpoints can have. Whatever it
 * asks with ids of the others is answered as if they did not exist, and nothing of theirs changes. Whatever happens at the others, each of
 * its answers stays as it was, in every list, count and statistic.
 *
 * Each statement that it causes is watched: it names endpoints of the session, or reads nothing that belongs to endpoints. So a new
 * statement that forgets them fails here, whether or not its answer shows it.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { afterAll, expect, layer, vi } from "@effect/vitest"
import type { ContractEntry } from "@posthorn/api-contract/Contract"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import pg from "pg"
import { linkFor } from "../ConsoleSignIn.ts"
import { makeEndpoint, observe, publish, walk } from "../Fixtures.ts"
import { makeWorld, pathOf, type World } from "../Samples.ts"
import { type Entered, entered, TestServer, testServer } from "../TestServer.ts"
import { comparable, leaksIn, likeUnknown, operations } from "./LikeUnknown.ts"
import { idsIn, pictureOf } from "./Tenants.ts"
import { askedOf, consoleOf } from "./Transports.ts"

const WORD = "zebra"
const SHARED = "shared.begun"
const SINCE = "2026-01-01T00:00:00.000Z"

/** Of no endpoint, or found by an id that was read under the caller's limit. */
const FREE: ReadonlySet<string> = new Set([
  ..."workspaces members api_tokens console_links console_sessions event_types catalogue idempotent_answers".split(
    " "
  ),
  ..."deviations_of id_at new_id made_at revoke_chain".split(" ")
])

/** Statements on what was found under the limit, and those that write an audit event or read where a page of a scan ends. */
const FOUND =
  /^\s*insert into posthorn\.(audit_events|idempotent_answers)\b|posthorn\.lets_through|offset \$\d+ limit 1\s*$/

/** Before a connection is made: each binds this function. */
const query = vi.spyOn(pg.Client.prototype, "query")
afterAll(() => query.mockRestore())

/** The statements that connections of this process sent since, with their values. */
const sentSince = (calls: number) =>
  (query.mock.calls as unknown as ReadonlyArray<ReadonlyArray<unknown>>).slice(calls).map(([first, own]) => {
    const { text, values = own } =
      typeof first === "string"
        ? { text: first }
        : (first as { readonly text: string; readonly values?: unknown })
    return { text, values: JSON.stringify(values ?? []) }
  })

/** One of everything at an endpoint, whose texts contain the word, and what several endpoints have together. */
const furnishGroup = (ws: Entered, endpointId: string, word: string, sharedId: string) =>
  Effect.gen(function* () {
    const eventType = `${word}.begun`
    const published = yield* publish(ws, eventType, { [word]: `${word} payload` })
    const [deliveryId] = published.deliveryIds
    yield* observe(ws, deliveryId!, { status: "failed_permanent", httpStatus: 404, responseBody: word })
    yield* observe(ws, sharedId, { status: "failed_permanent", httpStatus: 400 })
    for (const [method, path, body] of [
      [
        "POST",
        "/events",
        { eventType: "named.begun", payload: word, endpointIds: [endpointId], idempotencyKey: `${word}-key` }
      ],
      ["POST", `/webhooks/${endpointId}/test-event`, { waitSeconds: 0 }],
      ["POST", `/webhooks/${endpointId}/replays`, { since: SINCE }],
      ["POST", `/webhooks/deliveries/${sharedId}/resend`, {}],
      ["PATCH", `/webhooks/${endpointId}`, { description: `${word} description` }]
    ] as const)
      expect((yield* ws.call(method, path, { body })).status, path).toBeLessThan(300)
    const replayed = yield* ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`)
    yield* observe(ws, replayed.body.id)
    return published
  })

const prepare = Effect.gen(function* () {
  const ws = yield* entered
  const { call } = yield* TestServer
  const world = yield* makeWorld(ws)
  const own = [world.endpointId, yield* makeEndpoint(ws, { eventTypes: ["apple.begun"] })]
  const other = yield* makeEndpoint(ws, {
    url: `https://${WORD}.example.com/hooks`,
    eventTypes: [`${WORD}.begun`],
    filter: { [WORD]: `${WORD} payload` }
  })
  const shared = (yield* ws.call<{ readonly id: string; readonly deliveryIds: ReadonlyArray<string> }>(
    "POST",
    "/events",
    { body: { eventType: SHARED, payload: 1, endpointIds: [own[1], other] } }
  )).body
  const deliveries = (yield* ws.call("GET", `/webhooks/deliveries?eventId=${shared.id}`)).body.items
  const to = (endpointId: unknown) => String(deliveries.find((one) => one.endpointId === endpointId)!.id)
  const published = yield* furnishGroup(ws, own[1]!, "apple", to(own[1]))
  const { traceId } = (yield* ws.call("GET", `/events/${published.id}`)).body
  const session = yield* consoleOf(ws, yield* linkFor(ws, { endpointIds: own }))
  return {
    call,
    ws,
    session,
    own,
    other,
    shared,
    theirs: to(other),
    world: { ...world, eventId: published.id, traceId: String(traceId) } satisfies World
  }
})

type Prepared = Effect.Effect.Success<typeof prepare>

/** The rest of what others have, and every id that only they have. */
const furnishOthers = ({ other, theirs, ws }: Prepared) =>
  Effect.gen(function* () {
    const before = idsIn(JSON.stringify(yield* pictureOf(ws.workspaceId)))
    const published = yield* furnishGroup(ws, other, WORD, theirs)
    yield* ws.call("PATCH", `/webhooks/${other}`, { body: { enabled: false } })
    yield* publish(ws, `${WORD}.begun`, { [WORD]: `${WORD} payload` })
    const { traceId } = (yield* ws.call("GET", `/events/${published.id}`)).body
    yield* tell(ws, other, theirs)
    yield* age(ws, other)
    yield* makeEndpoint(ws, { eventTypes: ["*"] })
    yield* ws.tokenWith("read")
    yield* consoleOf(ws, yield* linkFor(ws))
    const resent = (yield* rows<{ traceId: string }>`select trace_id as "traceId" from posthorn.deliveries
      where replayed_from = ${theirs}`)[0]!.traceId
    const after = idsIn(JSON.stringify(yield* pictureOf(ws.workspaceId)))
    const ids = [...after].filter((id) => !before.has(id))
    const first = (prefix: string) => ids.find((id) => id.startsWith(prefix))!
    const foreign = {
      endpoint: other,
      delivery: theirs,
      deliveryOfTheirs: published.deliveryIds[0]!,
      event: published.id,
      attempt: first("wha_"),
      replay: first("rpl_"),
      audit: first("aud_"),
      notification: first("ntf_"),
      alert: first("alr_"),
      session: first("ses_"),
      token: first("tok_"),
      traceId: String(traceId),
      "traceId of a resend of what both got": resent,
      eventType: `${WORD}.begun`,
      "key of an event": `${WORD}-key`
    }
    return { foreign, marks: new Set([...ids, other, theirs, String(traceId), resent, WORD]) }
  })

/** What a worker writes for people. */
const tell = (ws: Entered, endpointId: string, deliveryId: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.all([
      sql`insert into posthorn.notifications (workspace_id, kind, message, endpoint_id, delivery_id)
        values (${ws.workspaceId}, 'delivery_dead_lettered', ${WORD}, ${endpointId}, ${deliveryId})`,
      sql`insert into posthorn.alerts (workspace_id, kind, cause, recipient, endpoint_id, happened_at)
        values (${ws.workspaceId}, 'email', 'endpoint.failing', ${`${WORD}@example.com`}, ${endpointId}, now())`
    ])
  ).pipe(Effect.orDie)

/** What was before today's first whole hour, and an endpoint whose filter has let nothing through for a day. */
const age = (ws: Entered, endpointId: string) =>
  Effect.gen(function* () {
    const eventType = `${WORD}.filtered`
    const filtered = yield* makeEndpoint(ws, { eventTypes: [eventType], filter: { [WORD]: 1 } })
    yield* ws.call("POST", "/events/batch", {
      body: { events: Array.from({ length: 60 }, () => ({ eventType, payload: {} })) }
    })
    yield* rows`update posthorn.endpoints set updated_at = now() - interval '2 days' where id = ${filtered}`
    yield* rows`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, trace_id, status, created_at)
      select ${ws.workspaceId}, posthorn.id_at('whd_', at) || right(posthorn.new_id(''), 16), ${endpointId}, 'a.b', 't', 'delivered', at
      from (select now() - interval '23 hours 59 minutes' as at) of_yesterday`
    expect((yield* ws.call("GET", "/overview")).body).toMatchObject({
      endpoints: { filteredOut: [filtered] }
    })
  }).pipe(Effect.orDie)

const reads = operations.filter(({ method }) => method === "GET")

/** Every answer that the session can read, by operation and query. */
const readAll = ({ session, world }: Prepared) =>
  Effect.forEach(
    reads.flatMap((entry) => {
      const asked = askedOf(entry, world)
      return [asked, { ...asked, query: {} }].map((each) => ({ entry, asked: each }))
    }),
    ({ asked, entry }) =>
      Effect.map(session.ask(entry, asked), (told) => ({
        operation: `${entry.name} ${JSON.stringify(asked.query)}`,
        ...comparable(told, "")
      }))
  )

/** Rows that say an id or a word of others. */
const theirRows = (ws: Entered, marks: ReadonlySet<string>) =>
  Effect.map(pictureOf(ws.workspaceId), (picture) =>
    Object.entries(picture).flatMap(([table, rows]) =>
      rows.filter((row) => [...marks].some((mark) => row.includes(mark))).map((row) => `${table} ${row}`)
    )
  )

const BELONGS = /"(?:(?:endpoint|event|delivery|replay|target)_id|replayed_from|recovered_by)": "([^"]+)"/g

export const limited = (n: number) =>
  layer(testServer({ workspaceLimits: { endpoints: 10_000, tokens: 10_000 } }), {
    excludeTestServices: true
  })("a session limited to endpoints", (it) => {
    it.effect(
      "§11.1 ids of other endpoints' things are answered like unknown ids, and nothing of them changes",
      () =>
        Effect.gen(function* () {
          const prepared = yield* prepare
          const { session, world, ws } = prepared
          const { foreign, marks } = yield* furnishOthers(prepared)
          const before = yield* theirRows(ws, marks)

          const { tried, wrong } = yield* likeUnknown(n, session, world, foreign, marks)

          expect(wrong).toEqual([])
          const after = yield* theirRows(ws, marks)
          expect(before.filter((row) => !after.includes(row))).toEqual([])
          const made = after.filter((row) => !before.includes(row))
          expect(made.filter((row) => [...row.matchAll(BELONGS)].some(([, id]) => marks.has(id!)))).toEqual(
            []
          )
          expect(tried.length).toBeGreaterThan(operations.length)
        }),
      240_000
    )

    it.effect(
      "§11.1 whatever happens at other endpoints, its answers stay the same",
      () =>
        Effect.gen(function* () {
          const prepared = yield* prepare
          const before = yield* readAll(prepared)
          const { marks } = yield* furnishOthers(prepared)

          const after = yield* readAll(prepared)

          expect(after).toEqual(before)
          expect(leaksIn(JSON.stringify(after), marks, [])).toEqual([])
          expect(after.filter(({ status }) => status !== 200)).toEqual([])
        }),
      120_000
    )

    it.effect(
      "§11.1 its own things are listed, page by page, and an event of several shows its own part",
      () =>
        Effect.gen(function* () {
          const prepared = yield* prepare
          const { own, session, shared, world, ws } = prepared
          const { marks } = yield* furnishOthers(prepared)
          const lists = reads.filter(({ endpoint }) =>
            /^list(WebhookEndpoints|WorkspaceDeliveries|Events|Replays|Notifications|AuditEvents)$/.test(
              endpoint.name
            )
          )

          for (const entry of lists) {
            const path = pathOf(entry, world).slice(`/workspaces/${ws.slug}`.length)
            const [whole, one] = [yield* walk(session.call, path, 200), yield* walk(session.call, path, 1)]
            expect(one.items, entry.name).toEqual(whole.items)
            expect(whole.items.length, entry.name).toBeGreaterThan(0)
          }
          expect((yield* session.call("GET", `/events/${shared.id}`)).body).toMatchObject({
            endpointIds: [own[1]],
            deliveries: 1,
            missed: 0
          })
          expect((yield* session.call("GET", `/events/${shared.id}/routing`)).body.items).toHaveLength(2)
          const trace = yield* session.call("GET", `/trace/${shared.id}`)
          expect(leaksIn(trace.text, marks, [])).toEqual([])
          expect(trace.body.items[0]).toMatchObject({ kind: "event", deliveries: 1 })
          const idle = yield* consoleOf(
            ws,
            yield* linkFor(ws, { endpointIds: [yield* makeEndpoint(ws, { eventTypes: ["idle"] })] })
          )
          expect((yield* idle.call("GET", "/overview")).body).toMatchObject({
            deliveries: { pending: 0, delivered: 0, failedPermanent: 0 },
            queue: { waiting: 0, oldestWaitingSeconds: null }
          })
          const tried = yield* session.call<{ readonly events: ReadonlyArray<{ readonly eventId: string }> }>(
            "POST",
            "/webhooks/try-filter",
            { body: { filter: { [WORD]: { $exist: false } } } }
          )
          const events = (yield* session.call("GET", "/events?limit=200")).body.items
          expect(tried.body.events.map(({ eventId }) => eventId)).toEqual(events.map(({ id }) => id))
          expect((yield* session.call("GET", "/overview")).body).toMatchObject({
            endpoints: { total: 2 },
            queue: { oldestWaitingSeconds: expect.any(Number) },
            apiTokens: 0
          })
        })
    )

    it.effect("§11.1 each statement names endpoints of the session, or reads nothing of endpoints", () =>
      Effect.gen(function* () {
        const prepared = yield* prepare
        const { own, session, world } = prepared
        yield* furnishOthers(prepared)

        const calls = query.mock.calls.length
        const removing = ({ method }: ContractEntry) => Number(method === "DELETE")
        const inOrder = operations.toSorted((one, other) => removing(one) - removing(other))
        yield* Effect.forEach(inOrder, (entry) => session.ask(entry, askedOf(entry, world)))
        const sent = sentSince(calls)
        const named = (text: string) => [...text.matchAll(/posthorn\.(\w+)/g)].map(([, name]) => name!)
        const open = sent.filter(
          ({ text, values }) =>
            !FOUND.test(text) &&
            !named(text).every((name) => FREE.has(name)) &&
            !own.some((id) => values.includes(id!))
        )

        expect([...new Set(open.map(({ text }) => text))]).toEqual([])
        expect(sent.length).toBeGreaterThan(operations.length)
      })
    )
  })
