/**
 * Receivers that are only harmful in large numbers: hundreds that hang, dozens that answer byte by byte as long as they may,
 * some that are alternately up and down, and good ones beside them, in their workspace and in another. `wave` publishes to
 * all of them, waits until nothing is left, and counts: each fault is a sentence in `wrong`.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import { generateSecret } from "@posthorn/signature"
import { type Behaviour, make as makeReceiver, type Received } from "@posthorn/testkit/Receiver"
import { Effect, Fiber, Redacted } from "effect"
import { box, publish, queued, settings, until, type Workspace, workspace } from "../Stage.ts"

export interface Size {
  readonly hanging: number
  readonly dripping: number
  readonly flapping: number
  readonly good: number
  /** The minimum of publishes to the good ones; they continue until the others are done. */
  readonly rounds: number
}

export interface Counted {
  readonly wrong: ReadonlyArray<string>
  readonly requests: number
  /** For the good ones, from publish to request. */
  readonly slowestMs: number
  readonly mostConnections: number
}

export const workerSettings = { ...settings, requestTimeoutMs: 1_000, bodyTimeoutMs: 200 }

/** Up and down for this long each, by the clock. */
const PHASE_MS = 300
const ROUND_MS = 250
const MAX_ATTEMPTS = 7
/** Idle connections that a worker keeps for one origin; some more are being closed. */
const KEPT = 100
const CLOSING = 20

const idOf = ({ headers }: Pick<Received, "headers">) =>
  headers.find(([name]) => name.toLowerCase() === "webhook-id")?.[1] ?? ""

/**
 * Alternately up and down; while down it answers 503, or every other one ends the connection. Its answers are noted by
 * delivery.
 */
const flapping = (told: Map<string, Array<number | null>>, ends: boolean): Behaviour => {
  const began = Date.now()
  return (answer) => {
    const isUp = Math.floor((Date.now() - began) / PHASE_MS) % 2 === 1
    const status = isUp ? 200 : ends ? null : 503
    const id = idOf(answer.request)
    told.set(id, [...(told.get(id) ?? []), status])
    // A part of an answer: a connection that ends without one may have been idle, and the request is sent again.
    if (status === null) answer.raw("HTTP/1.1 2").close()
    else answer.reply(status)
  }
}

const numbered = (count: number, path: string) => Array.from({ length: count }, (_, n) => `${path}?${n}`)

const endpointsAt = ({ id: workspaceId }: Workspace, eventType: string, urls: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const ids = urls.map(() => newId("endpoint"))
    const sealed = ids.map((endpointId) =>
      box.seal({ workspaceId, endpointId }, Redacted.make(generateSecret())).toString("hex")
    )
    return sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
      select ${workspaceId}, e.id, e.url, array[${eventType}]::text[], true, decode(e.secret, 'hex')
      from unnest(${ids}::text[], ${urls as Array<string>}::text[], ${sealed}::text[]) as e(id, url, secret)`
  })

interface Recorded {
  readonly id: string
  readonly path: string
  readonly status: string
  readonly at: string
  readonly httpStatuses: ReadonlyArray<number | null>
  readonly reasons: ReadonlyArray<string | null>
  readonly bodies: number
}

const recordedOf = (workspaces: ReadonlyArray<Workspace>) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<Recorded>`
      select d.id, split_part(regexp_replace(e.url, '^http://[^/]+', ''), '?', 1) as path, d.status, d.created_at::text as at,
        array(select a.http_status from posthorn.attempts a where a.workspace_id = d.workspace_id and a.delivery_id = d.id
          order by a.ordinal) as "httpStatuses",
        array(select a.failure_reason::text from posthorn.attempts a where a.workspace_id = d.workspace_id
          and a.delivery_id = d.id order by a.ordinal) as reasons,
        (select count(a.response_body)::integer from posthorn.attempts a where a.workspace_id = d.workspace_id
          and a.delivery_id = d.id) as bodies
      from posthorn.deliveries d
      join posthorn.endpoints e on e.workspace_id = d.workspace_id and e.id = d.endpoint_id
      where d.workspace_id in ${sql.in(workspaces.map(({ id }) => id))}`
  )

const isAll = <A>(values: ReadonlyArray<A>, count: number, value: A) =>
  values.length === count && values.every((each) => each === value)

/** Before the last answer only timeouts, which a good receiver may have on a busy machine; the last is 200. */
const endsWell = ({ httpStatuses, reasons, status }: Recorded) =>
  status === "delivered" &&
  httpStatuses.at(-1) === 200 &&
  reasons.slice(0, -1).every((reason) => reason === "request_timeout")

/** The expected record of a delivery to this path; `requests` are those that came, `told` their answers. */
const isExact = (row: Recorded, requests: number, told: ReadonlyArray<number | null>) => {
  const { bodies, httpStatuses, path, reasons, status } = row
  if (requests !== httpStatuses.length) return false
  switch (path) {
    case "/hang":
      return status === "dead_lettered" && isAll(reasons, MAX_ATTEMPTS, "request_timeout")
    case "/drip":
      return endsWell(row) && bodies === 0
    case "/ok":
      return endsWell(row)
    default:
      return (
        httpStatuses.every((seen, n) => seen === told[n] || reasons[n] === "request_timeout") &&
        status === (httpStatuses.at(-1) === 200 ? "delivered" : "dead_lettered")
      )
  }
}

export const wave = (size: Size) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const told = new Map<string, Array<number | null>>()
    const receiver = yield* makeReceiver({
      behaviours: { "/flap": flapping(told, false), "/flap-ends": flapping(told, true) }
    })
    const [busy, others] = [yield* workspace, yield* workspace]
    const urls = (count: number, path: string) => numbered(count, receiver.url(path))
    yield* endpointsAt(busy, "busy.all", [
      ...urls(size.hanging, "/hang"),
      ...urls(size.dripping, "/drip"),
      ...urls(size.flapping / 2, "/flap"),
      ...urls(size.flapping / 2, "/flap-ends")
    ])
    for (const one of [busy, others]) yield* endpointsAt(one, "good.all", urls(size.good, "/ok"))

    let mostConnections = 0
    const watching = yield* Effect.fork(
      Effect.sync(() => {
        mostConnections = Math.max(mostConnections, receiver.connections.open)
      }).pipe(Effect.delay("20 millis"), Effect.forever)
    )
    const waiting = yield* publish(busy, 1, "busy.all")
    const isDone = Effect.map(recordedOf([busy]), (rows) => {
      const open = rows.filter(({ status }) => status === "pending" || status === "failed")
      return open.length === 0
    })
    // A machine that stalls long enough disables good receivers, too; events published then are missed.
    const enableAll = sql`update posthorn.endpoints set enabled = true, disabled_reason = null, consecutive_failures = 0,
      generation = generation + 1 where not enabled and workspace_id in ${sql.in([busy.id, others.id])}`
    let published = waiting.length
    let rounds = 0
    let beside = 0
    while (rounds < size.rounds || !(yield* isDone)) {
      yield* enableAll
      for (const one of [busy, others]) published += (yield* publish(one, 1, "good.all")).length
      if (!(yield* isDone)) beside += 1
      rounds += 1
      yield* Effect.sleep(`${ROUND_MS} millis`)
    }
    for (const one of [busy, others]) yield* until(Effect.zipRight(enableAll, queued(one)), (n) => n === 0)
    yield* until(
      Effect.map(recordedOf([busy]), (rows) => rows.filter(({ status }) => status === "failed").length),
      (n) => n === 0
    )
    yield* Fiber.interrupt(watching)

    const recorded = yield* recordedOf([busy, others])
    const came = new Map<string, Array<number>>()
    for (const request of receiver.received)
      came.set(idOf(request), [...(came.get(idOf(request)) ?? []), request.at])
    const inexact = recorded.filter(
      (row) => !isExact(row, came.get(row.id)?.length ?? 0, told.get(row.id) ?? [])
    )
    const good = recorded.filter(({ path }) => path === "/ok")
    const slowestMs = Math.max(
      ...good.map(({ at, id }) => (came.get(id)?.[0] ?? Number.POSITIVE_INFINITY) - Date.parse(at))
    )
    const hung = receiver.receivedAt("/hang").map(({ at }) => at)
    const busyMs = Math.max(...hung) - Math.min(...hung)
    const slots = workerSettings.batchSize * workerSettings.maxConcurrency
    const claims: ReadonlyArray<readonly [boolean, string]> = [
      [recorded.length === published, `${recorded.length} deliveries instead of ${published}`],
      [
        waiting.length === size.hanging + size.dripping + size.flapping,
        "not every endpoint had its delivery"
      ],
      [
        inexact.length === 0,
        `${inexact.length} records are not what happened: ${JSON.stringify(inexact.slice(0, 3).map(({ httpStatuses, id, path, status }) => ({ path, status, httpStatuses, told: told.get(id), requests: came.get(id)?.length })))}`
      ],
      [came.size === recorded.length, `${came.size} deliveries came, and ${recorded.length} are on record`],
      [beside > 1, "the good ones were published to when the others were done"],
      [
        slowestMs < busyMs / 2,
        `a good one waited ${Math.round(slowestMs)} ms of the busy one's ${Math.round(busyMs)}`
      ],
      [mostConnections <= slots + KEPT + CLOSING, `${mostConnections} connections at once`],
      [mostConnections >= slots / 2, `only ${mostConnections} connections at once: the slots were not busy`]
    ]
    return {
      wrong: claims.flatMap(([holds, said]) => (holds ? [] : [said])),
      requests: receiver.received.length,
      slowestMs,
      mostConnections
    } satisfies Counted
  }).pipe(Effect.scoped)
