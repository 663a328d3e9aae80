/** A workspace after a working day: for the photographs, and for tests that need much of everything. */
import { catalogue } from "./Catalogue.ts"
import type { Stage } from "./Stage.ts"

interface Part {
  readonly url: string
  readonly description: string
  readonly eventTypes: ReadonlyArray<string>
  /** The percentage that fails, by hour counted back from now. */
  readonly failing: (hoursAgo: number) => number
}

const parts: ReadonlyArray<Part> = [
  {
    url: "https://hooks.northwind.example/posthorn",
    description: "Billing, production",
    eventTypes: ["invoice.*", "payment.captured"],
    failing: () => 0.4
  },
  {
    url: "https://api.lakeside.example/webhooks/incoming",
    description: "Order system",
    eventTypes: ["order.*"],
    failing: (hoursAgo) => (hoursAgo >= 4 && hoursAgo <= 6 ? 70 : 1)
  },
  {
    url: "https://events.harbor-logistics.example/v2/shipments",
    description: "Shipping partner",
    eventTypes: ["shipment.created", "shipment.delivered", "order.paid"],
    failing: (hoursAgo) => (hoursAgo < 3 ? 100 : 2)
  },
  {
    url: "https://crm.meadow.example/hook?source=acme&region=eu-west-1&version=2026-11-01",
    description: "CRM of the sales team",
    eventTypes: ["*"],
    failing: (hoursAgo) => (hoursAgo === 0 ? 30 : 3)
  },
  {
    url: "https://analytics.acme.example/collect",
    description: "",
    eventTypes: ["invoice.paid", "order.paid", "order.cancelled", "shipment.delivered"],
    failing: () => 0
  }
]

const types = [
  "invoice.created",
  "invoice.paid",
  "order.created",
  "order.paid",
  "payment.captured",
  "shipment.created",
  "shipment.delivered",
  "order.cancelled"
]

/** The same numbers each time. */
const random = (seed: number) => () => {
  seed = (seed * 1_664_525 + 1_013_904_223) % 4_294_967_296
  return seed / 4_294_967_296
}

const wants = ({ eventTypes }: Part, type: string) =>
  eventTypes.some(
    (pattern) =>
      pattern === "*" || pattern === type || (pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1)))
  )

const HOUR_MS = 3_600_000
const LADDER = 7

interface Written {
  readonly events: Array<unknown>
  readonly deliveries: Array<unknown>
  readonly attempts: Array<unknown>
}

const tail = (atMs: number, next: () => number) =>
  `${(atMs * 1000).toString(16).padStart(13, "0")}${Math.floor(next() * 2 ** 48)
    .toString(16)
    .padStart(16, "0")}`

const answers = [
  { status: 503, body: '{"error":"upstream connect error or disconnect/reset before headers"}' },
  {
    status: 500,
    body: "<!doctype html><title>500</title><h1>Internal Server Error</h1><p>Request 7f31a: <b>database is locked</b></p>"
  },
  { status: null, body: null }
]

const attemptsOf = (
  delivery: { id: string; atMs: number; count: number; last: string; traceId: string },
  url: string,
  next: () => number
) =>
  Array.from({ length: delivery.count }, (_, index) => {
    const isLast = index === delivery.count - 1
    const isGood = isLast && delivery.last === "delivered"
    const bad = answers[Math.floor(next() * answers.length)]!
    const answered = isGood || bad.status !== null
    return {
      delivery_id: delivery.id,
      ordinal: index + 1,
      id: `wha_${tail(delivery.atMs + index, next)}`,
      status: isGood
        ? "delivered"
        : isLast && delivery.last === "failed_permanent"
          ? "failed_permanent"
          : "failed",
      at: new Date(delivery.atMs + 400 + index * 31_000 + index * index * 14_000).toISOString(),
      duration_ms: isGood ? 60 + Math.floor(next() * 180) : 300 + Math.floor(next() * 900),
      http_status: isGood ? 200 : isLast && delivery.last === "failed_permanent" ? 404 : bad.status,
      failure_reason: isGood
        ? null
        : bad.status === null && delivery.last !== "failed_permanent"
          ? "connection_failed"
          : "http_status",
      request_headers: JSON.stringify({
        "content-type": "application/json",
        "user-agent": "Posthorn/0.1.0",
        "webhook-id": delivery.id,
        "webhook-timestamp": String(Math.floor(delivery.atMs / 1000)),
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        "x-trace-id": delivery.traceId
      }),
      response_body: isGood ? '{"received":true}' : bad.status === null ? null : bad.body,
      trace_id: delivery.traceId,
      response_headers: JSON.stringify(answered ? { "content-type": "application/json" } : {}),
      url
    }
  })

const write = (ids: ReadonlyArray<string>, eventCount: number, now: number): Written => {
  const next = random(7)
  const written: Written = { events: [], deliveries: [], attempts: [] }
  for (let index = 0; index < eventCount; index++) {
    const share = index / eventCount
    const atMs = Math.floor(now - 23.7 * HOUR_MS * (1 - share) ** (1.25 + 0.2 * Math.sin(share * 9)) - 4_000)
    const type = types[Math.floor(next() * types.length)]!
    const eventId = `evt_${tail(atMs, next)}`
    const traceId = tail(atMs, next).padEnd(32, "4").slice(0, 32)
    const payload = `{"id":${10_000 + index},"object":"${type.split(".")[0]}","amount":${(next() * 900).toFixed(2)},"currency":"EUR","customer":{"name":"Zoë Ångström","email":"zoe@example.com"}}`
    written.events.push({
      deliveries: parts.filter((part) => wants(part, type)).length,
      missed: 0,
      retry: true,
      actor: index % 9 === 0 ? "system sql billing" : "api_token rest tok_64401b2c93f5e0b7d1c4a98e62f03",
      id: eventId,
      event_type: type,
      payload,
      trace_id: traceId,
      created_at: new Date(atMs).toISOString()
    })
    for (const [at, part] of parts.entries()) {
      if (!wants(part, type)) continue
      const hoursAgo = Math.floor((now - atMs) / HOUR_MS)
      const fails = next() * 100 < part.failing(hoursAgo)
      const isNew = now - atMs < 600_000
      const last = fails
        ? isNew
          ? "failed"
          : next() < 0.2
            ? "failed_permanent"
            : next() < 0.45
              ? "delivered"
              : "dead_lettered"
        : "delivered"
      const count = !fails
        ? 1
        : last === "dead_lettered"
          ? LADDER
          : last === "failed_permanent"
            ? 1
            : 1 + Math.floor(next() * 3)
      const id = `whd_${tail(atMs, next)}`
      const attempts = attemptsOf({ id, atMs, count, last, traceId }, part.url, next)
      const final = attempts[attempts.length - 1]!
      written.attempts.push(...attempts)
      written.deliveries.push({
        id,
        endpoint_id: ids[at],
        event_id: eventId,
        event_type: type,
        payload,
        trace_id: traceId,
        status: last,
        attempts: count,
        next_attempt_at: last === "failed" ? new Date(now + 20_000 + next() * 90_000).toISOString() : null,
        last_http_status: final.http_status,
        last_failure_reason: final.failure_reason,
        last_duration_ms: final.duration_ms,
        last_attempt_at: final.at,
        created_at: new Date(atMs).toISOString()
      })
    }
  }
  return written
}

const rowsInto = (
  table: string
) => `insert into posthorn.${table} select (jsonb_populate_record(null::posthorn.${table}, row)).*
  from jsonb_array_elements($1::jsonb) as row`

/** Columns that a row leaves out become null in a record, so columns that may not be null must be given. */
const complete = (workspaceId: string, rows: ReadonlyArray<unknown>) =>
  JSON.stringify(rows.map((row) => ({ workspace_id: workspaceId, ...(row as object) })))

/** Contains something for every part of the request form. */
const REQUEST = {
  headers: [
    { name: "x-region", value: "eu-1" },
    { name: "x-api-key", value: "0f8b2c", secret: true }
  ],
  authentication: { kind: "basic", username: "posthorn", password: "an old password" },
  body: "cloudevents",
  signatures: [
    { scheme: "standard_v1" },
    {
      scheme: "hmac",
      header: "stripe-signature",
      algorithm: "sha256",
      encoding: "hex",
      content: "{timestamp}.{body}",
      format: "t={timestamp},v1={signature}"
    }
  ]
}

const FILTER = { amount: { $gte: 400 }, customer: { name: { $startsWith: "Zo" } } }

const OAUTH = {
  authentication: {
    kind: "oauth2",
    tokenUrl: "https://auth.northwind.example/oauth/token",
    clientId: "acme-posthorn",
    clientSecret: "an old client secret",
    scope: "webhooks:write"
  },
  signatures: [{ scheme: "standard_v1a" }]
}

export const makeWorld = async (stage: Stage, { events = 420, slug = "acme" } = {}) => {
  const { api, sql } = stage
  const workspace = await api("POST", "/workspaces", { slug, name: "Acme Commerce" })
  const workspaceId = String(workspace.id)
  const ids: Array<string> = []
  for (const { description, eventTypes, url } of parts)
    ids.push(String((await api("POST", `/workspaces/${slug}/webhooks`, { url, eventTypes, description })).id))
  const written = write(ids, events, Date.now())
  await sql(rowsInto("events"), [complete(workspaceId, written.events)])
  await sql(rowsInto("deliveries"), [complete(workspaceId, written.deliveries)])
  await sql(rowsInto("attempts"), [complete(workspaceId, written.attempts)])
  const broken = ids[2]!
  await sql(
    `update posthorn.endpoints set enabled = false, disabled_reason = 'consecutive_failures', consecutive_failures = 20,
       disabled_at = now() - interval '41 minutes' where workspace_id = $1 and id = $2`,
    [workspaceId, broken]
  )
  await sql(`update posthorn.endpoints set consecutive_failures = 7 where workspace_id = $1 and id = $2`, [
    workspaceId,
    ids[3]
  ])
  await sql(
    `insert into posthorn.notifications (workspace_id, kind, message, endpoint_id, created_at)
     values ($1, 'endpoint_disabled', $2, $3, now() - interval '41 minutes')`,
    [
      workspaceId,
      `Endpoint ${broken} was disabled after 20 failures in a row. Lost so far: 20 deliveries given up, 3 events missed; events that are published while it is disabled are missed too. Fix the receiver and enable the endpoint; then this sends all of it again: POST /workspaces/acme/webhooks/${broken}/replays with {"since":"2026-11-26T12:00:00.000Z","includeMissed":true} (add "dryRun":true to count first).`,
      broken
    ]
  )
  await sql(
    `insert into posthorn.notifications (workspace_id, kind, message, endpoint_id, delivery_id, created_at, read_at)
     select workspace_id, 'delivery_dead_lettered', format('Endpoint %s stopped receiving: delivery %s (%s) was given up after %s attempts. Fix the receiver, then replay it.',
         endpoint_id, id, event_type, attempts),
       endpoint_id, id, created_at + interval '11 minutes', case when created_at < now() - interval '3 hours' then now() end
     from posthorn.deliveries where workspace_id = $1 and status = 'dead_lettered' order by id desc limit 12`,
    [workspaceId]
  )
  for (const [eventType, body] of catalogue) await api("PUT", `/event-types/${eventType}`, body)
  await sql(
    `insert into posthorn.deviations (workspace_id, event_type, day, count, since, last_event_id)
     select $1, 'order.paid', (now() at time zone 'UTC')::date, 12, now() - interval '5 hours', max(id)
     from posthorn.events where workspace_id = $1 and event_type = 'order.paid'`,
    [workspaceId]
  )
  await api("POST", `/workspaces/${slug}/webhooks/${ids[0]}/rotate-secret`)
  await api("PATCH", `/workspaces/${slug}/webhooks/${ids[1]}`, { description: "Order system, production" })
  await api("PATCH", `/workspaces/${slug}/webhooks/${ids[4]}`, { request: REQUEST, filter: FILTER })
  await api("PATCH", `/workspaces/${slug}/webhooks/${ids[0]}`, { request: OAUTH })
  for (const [name, email, role] of [
    ["Ada Lovelace", "ada@acme.example", "admin"],
    ["Grace Hopper", "grace@acme.example", "developer"],
    ["نور الدين", "noor@acme.example", "viewer"]
  ])
    await api("POST", `/workspaces/${slug}/members`, { name, email, role })
  await api("POST", `/workspaces/${slug}/api-tokens`, { name: "Billing service", scopes: ["event:publish"] })
  await api("POST", `/workspaces/${slug}/api-tokens`, {
    name: "Support agent (MCP)",
    scopes: ["read", "webhook:list", "webhook:test", "webhook:replay"]
  })
  const [failed] = await sql(
    `select id from posthorn.deliveries where workspace_id = $1 and status = 'dead_lettered' order by id desc limit 1`,
    [workspaceId]
  )
  const [retrying] = await sql(
    `select id from posthorn.deliveries where workspace_id = $1 and status = 'failed' order by attempts desc, id desc limit 1`,
    [workspaceId]
  )
  const [event] = await sql(
    `select id from posthorn.events where workspace_id = $1 order by id desc limit 1`,
    [workspaceId]
  )
  return {
    slug,
    workspaceId,
    endpointIds: ids,
    broken,
    failed: String(failed!.id),
    retrying: String((retrying ?? failed)!.id),
    event: String(event!.id)
  }
}

export type World = Awaited<ReturnType<typeof makeWorld>>

/** Every page of the console, with this workspace's ids. */
export const placesOf = (world: World) => {
  const at = (path: string) => `/console/w/${world.slug}${path}`
  return {
    fleet: "/console/fleet",
    overview: at("/overview"),
    endpoints: at("/endpoints"),
    endpoint: at(`/endpoints/${world.endpointIds[3]}`),
    "endpoint-disabled": at(`/endpoints/${world.broken}`),
    "endpoint-diagnosis": at(`/endpoints/${world.endpointIds[3]}?tab=diagnosis`),
    "endpoint-settings": at(`/endpoints/${world.endpointIds[0]}?tab=settings`),
    "endpoint-filter": at(`/endpoints/${world.endpointIds[4]}?tab=settings`),
    "endpoint-policy": at(`/endpoints/${world.endpointIds[0]}?tab=policy`),
    "endpoint-request": at(`/endpoints/${world.endpointIds[4]}?tab=request`),
    "endpoint-oauth": at(`/endpoints/${world.endpointIds[0]}?tab=request`),
    "endpoint-secret": at(`/endpoints/${world.endpointIds[0]}?tab=secret`),
    "endpoint-try": at(`/endpoints/${world.endpointIds[0]}?tab=try`),
    "new-endpoint": at("/endpoints/new"),
    recover: at(`/endpoints/${world.broken}/recover`),
    deliveries: at("/deliveries"),
    "deliveries-none": at("/deliveries?status=pending&eventType=no.such"),
    delivery: at(`/deliveries/${world.retrying}`),
    "delivery-failed": at(`/deliveries/${world.failed}`),
    events: at("/events"),
    event: at(`/events/${world.event}`),
    "event-types": at("/event-types"),
    "event-type": at("/event-types?eventType=invoice.paid"),
    "event-type-deviating": at("/event-types?eventType=order.paid"),
    "event-type-unknown": at("/event-types?eventType=no.such"),
    notifications: at("/notifications"),
    settings: at("/settings"),
    "audit-log": at("/audit-log"),
    members: at("/members"),
    "api-tokens": at("/api-tokens"),
    connect: at("/connect")
  }
}
