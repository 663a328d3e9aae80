/**
 * What a delivery costs when much lies around it. Each case is a window of the same number of deliveries, taken from a
 * worker that is already running: `empty` (nothing else), `backlog` (many waiting, much history), `blocked` (many rows of
 * one disabled endpoint, due before everybody else's), `snapshot` (an old transaction keeps dead rows from being
 * removed, and 60,000 deliveries have already gone by). The rows are written directly, without triggers, because
 * publishing them would take hours; their form is that of published and delivered ones.
 */
import { endpointsAt, posthorn } from "../Contestants.mjs"
import {
  costs,
  endWorker,
  enqueue,
  forgetTemplate,
  medians,
  okEndpoints,
  reading,
  startWorker,
  withContext
} from "../Run.mjs"
import { connect } from "../Servers.mjs"

const LEAD = 5000
/**
 * With a large backlog the window begins later: a worker that starts reads past all of it once (about 1 us a row), which
 * is a cost of the start and not of a delivery.
 */
const LATE_LEAD = 40_000

/** Rows of deliveries, and their attempts or queue rows, spread over the endpoints of the condition. */
const rows = (count, { status, ageSeconds, where }) => `
  with target as (select array_agg(id::text) as ids, min(workspace_id) as workspace_id,
      array_agg(event_types[1]) as types from posthorn.endpoints where ${where}),
  made as (
    select n, posthorn.id_at('whd_', at) || right(posthorn.new_id(''), 16) as id, ids[1 + n % cardinality(ids)] as endpoint_id,
      workspace_id, types[1 + n % cardinality(ids)] as event_type, at
    from target, generate_series(1, ${count}) as n,
      lateral (select now() - (${ageSeconds} + (${count} - n) * 0.001) * interval '1 second' as at) as aged
  ), delivered as (
    insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status, attempts,
      last_http_status, last_duration_ms, last_attempt_at, next_attempt_at, created_at)
    select workspace_id, id, endpoint_id, event_type, '{"sent":0,"pad":"' || repeat('x', 330) || '"}', md5(id), '${status}',
      ${status === "pending" ? "0, null, null, null, at" : "1, 200, 2, at, null"}, at from made
  )`

const history = (count) => `${rows(count, { status: "delivered", ageSeconds: 86_400, where: "enabled" })}
  insert into posthorn.attempts (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, http_status, url, request_headers,
    response_headers, response_body, trace_id)
  select workspace_id, id, 1, 'wha_' || substr(id, 5), 'delivered', at, 2, 200, 'https://receiver.example.com/hooks/7', repeat('h', 300),
    '{"content-type":"text/plain","server":"nginx"}', 'ok', md5(id) from made`

const waiting = (count, ageSeconds, where) => `${rows(count, { status: "pending", ageSeconds, where })}
  insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
  select workspace_id, id, endpoint_id, posthorn.shard_of(endpoint_id), at from made`

const CHUNK = 250_000

const fillWith = (statement, total) => async (client) => {
  for (let left = total; left > 0; left -= CHUNK) await client.query(statement(Math.min(CHUNK, left)))
}

const cases = ({ backlog, history: past }) => ({
  empty: { fill: async () => undefined },
  backlog: {
    fill: async (client) => {
      await fillWith(history, past)(client)
      await fillWith((count) => waiting(count, 3600, "enabled"), backlog)(client)
    },
    waiting: true,
    lead: LATE_LEAD
  },
  blocked: {
    fill: async (client) => {
      await fillWith((count) => waiting(count, 7200, "not enabled"), backlog)(client)
    },
    lead: LATE_LEAD
  },
  snapshot: { fill: async () => undefined, snapshot: 60_000 }
})

const endpointsOf = (bench) => [
  ...okEndpoints(bench.sink),
  ...endpointsAt([`${bench.sink.origin}/ok/blocked`]).map((endpoint) => ({
    ...endpoint,
    eventType: "bench.blocked"
  }))
]

const BLOCK = `update posthorn.endpoints set enabled = false, disabled_reason = 'manual', disabled_at = now()
  where event_types = array['bench.blocked']`

const fill = (rest) => async (url) => {
  const client = await connect(url)
  await client.query(BLOCK)
  await client.query("set session_replication_role = replica; set synchronous_commit = off")
  await rest(client)
  await client.query("analyze")
  await client.query("vacuum")
  await client.end()
}

const once = (bench, name, one, n) =>
  withContext(
    bench,
    posthorn,
    { endpoints: endpointsOf(bench), tag: `growth-${name}`, fill: fill(one.fill) },
    async (context) => {
      const healthy = context.endpoints.slice(0, -1)
      await bench.postgres.admin.query("checkpoint")
      let holder = null
      if (one.snapshot) {
        holder = await connect(context.url)
        await holder.query("begin isolation level repeatable read")
        await holder.query("select count(*) from posthorn.queue")
      }
      const before = one.snapshot ?? 0
      const lead = one.lead ?? LEAD
      if (!one.waiting) await enqueue(posthorn, context, before + lead + n + 2000, healthy)
      const child = startWorker(posthorn, context)
      await bench.sink.reached(before + lead)
      const from = await reading(bench, posthorn, [child.pid])
      await bench.sink.reached(before + lead + n)
      const result = costs(from, await reading(bench, posthorn, [child.pid]), n)
      await endWorker(child)
      await holder?.end()
      return result
    }
  )

export const growth = async (bench, options) => {
  const all = cases(options)
  const names = Object.keys(all).filter(
    (name) => !options.only || options.only.includes(name) || name === "empty"
  )
  const runs = Object.fromEntries(names.map((name) => [name, []]))
  for (let rep = 0; rep < options.reps; rep++) {
    for (const name of names) {
      const run = await once(bench, name, all[name], options.n)
      runs[name].push(run)
      bench.say(
        `  ${rep + 1}/${options.reps} ${name.padEnd(9)} ${run.rate.toFixed(0)}/s, CPU ms each ${run.node.toFixed(3)} + ${run.postgres.toFixed(3)}`
      )
    }
  }
  for (const name of names) await forgetTemplate(bench, posthorn, `growth-${name}`)
  const middle = Object.fromEntries(names.map((name) => [name, medians(runs[name])]))
  return {
    scenario: "growth",
    options,
    cases: names.map((name) => ({
      name,
      ...middle[name],
      postgresRatio: middle[name].postgres / middle.empty.postgres,
      rateRatio: middle[name].rate / middle.empty.rate,
      runs: runs[name]
    }))
  }
}
