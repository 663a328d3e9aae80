/**
 * What each list costs on a large database: fills one with a million deliveries, runs the very statements of the repos,
 * and prints for each its plan's indexes, pages touched, and time, on the first page and deep in the list.
 *
 *   DATABASE_URL=postgresql://… tsx packages/persistence/bin/plans.ts [rows]
 *
 * The database must be empty or made by this script; it is kept, so that a second run is quick. Not part of CI.
 */
import type { Within } from "@posthorn/domain/Principal"
import { whole } from "@posthorn/testkit/Whole"
import { Config, Effect, Layer, Option, Redacted } from "effect"
import pg from "pg"
import * as Database from "../src/client/Database.ts"
import { migrate } from "../src/operations/Migrator.ts"
import { ApiTokensRepo } from "../src/repositories/ApiTokensRepo.ts"
import { AuditEventsRepo } from "../src/repositories/AuditEventsRepo.ts"
import { DeliveriesRepo } from "../src/repositories/DeliveriesRepo.ts"
import { EndpointsRepo } from "../src/repositories/EndpointsRepo.ts"
import { MembersRepo } from "../src/repositories/MembersRepo.ts"
import { NotificationsRepo } from "../src/repositories/NotificationsRepo.ts"
import { StatisticsRepo } from "../src/repositories/StatisticsRepo.ts"

const WORKSPACE = "wsp_big"
const BIG = "whe_000000"
/** A caller that is limited to a busy endpoint and two others. */
const LIMITED: Within = { workspaceId: WORKSPACE, endpointIds: [BIG, "whe_000001", "whe_000003"] }
const LIMIT = 50

interface Sent {
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

/** Every statement that any connection of this process sends, as it is sent. */
const sent: Array<Sent> = []
const query = pg.Client.prototype.query as (...args: ReadonlyArray<unknown>) => unknown
pg.Client.prototype.query = function (this: pg.Client, ...args: ReadonlyArray<unknown>) {
  const [first, values] = args
  if (typeof first === "string") sent.push({ text: first, values: Array.isArray(values) ? values : [] })
  return query.apply(this, [...args])
} as typeof pg.Client.prototype.query

/** 30 days of deliveries, half of them to one endpoint of a hundred; a tenth as many of everything else. */
const fill = (rows: number) => [
  "set session_replication_role = replica",
  `insert into posthorn.workspaces (id, slug, name) values ('${WORKSPACE}', 'big', 'Big'), ('wsp_small', 'small', 'Small')`,
  `insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
   select '${WORKSPACE}', 'whe_' || lpad(n::text, 6, '0'), 'https://example.com/', '{*}', true, '\\x00'
   from generate_series(0, ${rows} / 10) n`,
  `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status, attempts,
     last_duration_ms, created_at)
   select case when n % 20 = 0 then 'wsp_small' else '${WORKSPACE}' end, posthorn.id_at('whd_', at) || lpad(n::text, 16, '0'),
     case when n % 2 = 0 then '${BIG}' else 'whe_' || lpad((n % 100)::text, 6, '0') end,
     case when n % 1000 = 7 then 'rare.type' else 'invoice.paid' end, '{"id":' || n || ',"text":"' || repeat('x', 300) || '"}',
     't', case when n % 50 = 0 then 'failed_permanent' when n % 50 = 1 then 'dead_lettered' else 'delivered' end, 1,
     n % 900, at
   from generate_series(1, ${rows}) n, lateral (select now() - interval '30 days' + n * (interval '30 days' / ${rows}) as at) t`,
  `insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
   select workspace_id, id, endpoint_id, 0, created_at from posthorn.deliveries where created_at > now() - interval '3 days'`,
  `insert into posthorn.audit_events (workspace_id, id, action, actor_type, actor_id, via, target_type, target_id, trace_id, created_at)
   select '${WORKSPACE}', 'aud_' || lpad(n::text, 29, '0'), 'member.added', 'operator', 'operator', 'rest', 'member', 'm', 't',
     now() - n * interval '1 second' from generate_series(1, ${rows}) n`,
  `insert into posthorn.notifications (workspace_id, id, kind, message, delivery_id, read_at, created_at)
   select '${WORKSPACE}', 'ntf_' || lpad(n::text, 29, '0'), 'delivery_dead_lettered', 'm', 'whd_' || n,
     case when n % 100 > 0 then now() end, now() - n * interval '1 second' from generate_series(1, ${rows} / 10) n`,
  `insert into posthorn.api_tokens (workspace_id, id, name, scopes, secret_hash, created_at)
   select '${WORKSPACE}', 'tok_' || lpad(n::text, 29, '0'), 't', '{read}', sha256('x'), now() - n * interval '1 second'
   from generate_series(1, ${rows} / 10) n`,
  `insert into posthorn.members (workspace_id, id, email, email_key, name, role)
   select '${WORKSPACE}', 'mem_' || lpad(n::text, 29, '0'), n || '@example.com', n || '@example.com', 'm', 'viewer'
   from generate_series(1, ${rows} / 10) n`,
  "vacuum analyze"
]

interface PlanNode {
  readonly "Node Type": string
  readonly "Index Name"?: string
  readonly "Relation Name"?: string
  readonly Plans?: ReadonlyArray<PlanNode>
}

interface Plan {
  readonly Plan: PlanNode & { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number }
  readonly "Execution Time": number
}

const scansOf = (node: PlanNode): ReadonlyArray<string> => [
  ...(node["Node Type"].includes("Scan") &&
  node["Node Type"] !== "Subquery Scan" &&
  node["Node Type"] !== "CTE Scan"
    ? [
        node["Node Type"] === "Seq Scan"
          ? `SEQ SCAN ${node["Relation Name"]}`
          : (node["Index Name"] ?? node["Node Type"])
      ]
    : []),
  ...(node.Plans ?? []).flatMap(scansOf)
]

const program = Effect.gen(function* () {
  const url = yield* Config.redacted("DATABASE_URL")
  const rows = Number(process.argv[2] ?? 1_000_000)
  const client = new pg.Client({ connectionString: Redacted.value(url) })
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect()),
    () => Effect.promise(() => client.end())
  )
  const run = (text: string, values: ReadonlyArray<unknown> = []) =>
    Effect.promise(() => client.query<Record<string, unknown>>(text, [...values]))
  yield* migrate
  if ((yield* run(`select from posthorn.workspaces where id = '${WORKSPACE}'`)).rowCount === 0) {
    for (const statement of fill(rows)) yield* run(statement)
  }

  const explain = ({ text, values }: Sent) =>
    Effect.gen(function* () {
      yield* run(`explain (analyze, buffers, format json) ${text}`, values)
      const { rows: plans } = yield* run(`explain (analyze, buffers, format json) ${text}`, values)
      const [plan] = plans[0]!["QUERY PLAN"] as unknown as readonly [Plan]
      const pages = plan.Plan["Shared Hit Blocks"] + plan.Plan["Shared Read Blocks"]
      return { ms: plan["Execution Time"], pages, scans: [...new Set(scansOf(plan.Plan))].join(" + ") }
    })

  const show = (name: string, ask: Effect.Effect<unknown, unknown>) =>
    Effect.gen(function* () {
      sent.length = 0
      yield* ask
      const statements = sent.filter(({ text }) => /posthorn\./.test(text))
      for (const statement of [...statements]) {
        const { ms, pages, scans } = yield* explain(statement)
        console.log(`| ${name} | ${ms.toFixed(2)} | ${pages} | ${scans} |`)
      }
    })

  const deliveries = yield* DeliveriesRepo
  const audit = yield* AuditEventsRepo
  const notifications = yield* NotificationsRepo
  const tokens = yield* ApiTokensRepo
  const members = yield* MembersRepo
  const endpoints = yield* EndpointsRepo
  const statistics = yield* StatisticsRepo
  const daysAgo = (days: number) =>
    Option.some({
      at: new Date(Date.now() - days * 86_400_000).toISOString(),
      id: `whd_${((Date.now() - days * 86_400_000) * 1000).toString(16).padStart(13, "0")}`
    })
  const first = Option.none()
  const secondsAgo = (seconds: number, id: string) =>
    Option.some({ at: new Date(Date.now() - seconds * 1000).toISOString(), id })

  console.log("| statement | ms | pages | by |\n|---|---|---|---|")
  for (const [depth, from] of [
    ["first page", first],
    ["15 days down", daysAgo(15)],
    ["29 days down", daysAgo(29)]
  ] as const) {
    yield* show(`workspace deliveries, ${depth}`, deliveries.list(whole(WORKSPACE), {}, LIMIT, from))
    yield* show(
      `one endpoint's, ${depth}`,
      deliveries.list(whole(WORKSPACE), { endpointId: BIG }, LIMIT, from)
    )
    yield* show(
      `status filter, ${depth}`,
      deliveries.list(whole(WORKSPACE), { status: "dead_lettered" }, LIMIT, from)
    )
    yield* show(
      `rare type (walks 10,000), ${depth}`,
      deliveries.list(whole(WORKSPACE), { eventType: "rare.type" }, LIMIT, from)
    )
  }
  yield* show("three endpoints'", deliveries.list(LIMITED, {}, LIMIT, first))
  yield* show(
    "three endpoints', status filter",
    deliveries.list(LIMITED, { status: "dead_lettered" }, LIMIT, first)
  )
  const since = new Date(Date.now() - 20 * 86_400_000).toISOString()
  yield* show("since and until", deliveries.list(whole(WORKSPACE), { since, until: since }, LIMIT, first))
  for (const [depth, part] of [
    ["first page", 0],
    ["deep", 0.9]
  ] as const) {
    const at = (id: string) => (part === 0 ? first : secondsAgo(rows * part * (id === "aud_" ? 1 : 0.1), id))
    const past = (id: string) =>
      part === 0
        ? first
        : Option.some({ id: `${id}${String(Math.floor(rows * 0.09)).padStart(id === "whe_" ? 6 : 29, "0")}` })
    yield* show(`audit events, ${depth}`, audit.list(whole(WORKSPACE), {}, LIMIT, at("aud_")))
    yield* show(`notifications, ${depth}`, notifications.list(whole(WORKSPACE), LIMIT, at("ntf_")))
    yield* show(`API tokens, ${depth}`, tokens.list(WORKSPACE, LIMIT, at("tok_")))
    yield* show(`members, ${depth}`, members.list(WORKSPACE, LIMIT, past("mem_")))
    yield* show(`endpoints, ${depth}`, endpoints.list(whole(WORKSPACE), LIMIT, past("whe_"), { order: "id" }))
  }
  yield* show("overview", statistics.overview(whole(WORKSPACE)))
  yield* show("overview of three endpoints", statistics.overview(LIMITED))
  for (const hours of [1, 24, 168, 720]) {
    yield* show(`statistics, ${hours} h of the big endpoint`, statistics.ofEndpoint(WORKSPACE, BIG, hours))
  }
}).pipe(Effect.scoped)

const live = Layer.mergeAll(
  ApiTokensRepo.Default,
  AuditEventsRepo.Default,
  DeliveriesRepo.Default,
  EndpointsRepo.Default,
  MembersRepo.Default,
  NotificationsRepo.Default,
  StatisticsRepo.Default
).pipe(
  Layer.provideMerge(
    Layer.unwrapEffect(
      Effect.map(Config.redacted("DATABASE_URL"), (url) =>
        Database.layer({ url, applicationName: "posthorn plans", maxConnections: 2 })
      )
    )
  )
)

Effect.runPromise(Effect.provide(program, live)).catch((error) => {
  console.error(error)
  process.exitCode = 1
})
