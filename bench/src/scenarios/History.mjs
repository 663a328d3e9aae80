/**
 * What answers and deliveries cost on top of much history: events, deliveries and attempts spread over 30 days, 10,000 of each
 * and `--rows` of each. Every operation that lists, gets, counts or diagnoses is asked over REST, in its time and in the
 * pages that PostgreSQL touches: statistics and overview before a worker has counted the hours that are over, and all of it
 * afterwards. Then the worker delivers, and PostgreSQL's CPU for a delivery is taken. The rows are written into the database that
 * is measured, with all indexes: a copy would need the room twice.
 */
import { posthorn } from "../Contestants.mjs"
import { writeRows } from "../load/Rows.mjs"
import { now, sleep, until } from "../Machine.mjs"
import { openPosthorn } from "../RestServer.mjs"
import {
  costs,
  drained,
  endWorker,
  enqueue,
  median,
  okEndpoints,
  reading,
  startWorker,
  withContext
} from "../Run.mjs"

const FEW = 10_000
const DAYS = 30
const ENDPOINTS = 20
const WARM_UP = 5
const TIMES = 15
const WORKSPACE = "/workspaces/bench"
/** A connection tells what it has read when it ends a transaction, once a second at most. */
const TOLD_MS = 1100
const LEAD = 3000

const at = (daysAgo) => new Date(Date.now() - daysAgo * 86_400_000).toISOString()

/** Every question, by the name of its operation. */
const questions = ({ attempted, delivery, endpoint, event }) => {
  const hook = `${WORKSPACE}/webhooks/${endpoint}`
  const deep = `until=${encodeURIComponent(at(15))}`
  return {
    getOverview: `${WORKSPACE}/overview`,
    "getEndpointStats, 24 h": `${hook}/stats?hours=24`,
    "getEndpointStats, 30 days": `${hook}/stats?hours=720`,
    diagnoseEndpoint: `${hook}/diagnosis`,
    listWebhookEndpoints: `${WORKSPACE}/webhooks`,
    getWebhookEndpoint: hook,
    listWebhookDeliveries: `${hook}/deliveries`,
    "listWebhookDeliveries, none that failed": `${hook}/deliveries?status=failed`,
    listWorkspaceDeliveries: `${WORKSPACE}/webhooks/deliveries`,
    "listWorkspaceDeliveries, 15 days ago": `${WORKSPACE}/webhooks/deliveries?${deep}`,
    "listWorkspaceDeliveries, none that failed": `${WORKSPACE}/webhooks/deliveries?status=failed`,
    "listWorkspaceDeliveries, of an event": `${WORKSPACE}/webhooks/deliveries?eventId=${event}`,
    getWebhookDelivery: `${WORKSPACE}/webhooks/deliveries/${delivery}`,
    listWebhookDeliveryAttempts: `${WORKSPACE}/webhooks/deliveries/${attempted}/attempts`,
    listEvents: `${WORKSPACE}/events`,
    "listEvents, 15 days ago": `${WORKSPACE}/events?${deep}`,
    "listEvents, of a type": `${WORKSPACE}/events?eventType=bench.e1`,
    getEvent: `${WORKSPACE}/events/${event}`,
    listEventTypes: `${WORKSPACE}/event-types`,
    getTrace: `${WORKSPACE}/trace/${event}`,
    listReplays: `${WORKSPACE}/webhooks/replays`,
    listNotifications: `${WORKSPACE}/notifications`,
    listAuditEvents: `${WORKSPACE}/audit-events`,
    listMembers: `${WORKSPACE}/members`,
    listApiTokens: `${WORKSPACE}/api-tokens`,
    listWorkspaces: "/workspaces",
    "createReplay, dry": ["POST", `${hook}/replays`, { since: at(29), dryRun: true }]
  }
}

const pagesTouched = async ({ client }) => {
  const { rows } = await client.query(
    "select (blks_hit + blks_read)::float8 as pages from pg_stat_database where datname = current_database()"
  )
  return rows[0].pages
}

const ask = async (server, context, question) => {
  const [method, path, body] = Array.isArray(question) ? question : ["GET", question]
  const timed = async (times) => {
    const all = []
    for (let n = 0; n < times; n++) {
      const from = now()
      await server.call(method, path, body)
      all.push(now() - from)
    }
    return all
  }
  const [first] = await timed(1)
  await timed(first > 1000 ? 1 : WARM_UP)
  await sleep(TOLD_MS)
  await timed(1)
  const before = await pagesTouched(context)
  const times = await timed(first > 1000 ? 3 : TIMES)
  await sleep(TOLD_MS)
  times.push(...(await timed(1)))
  return {
    ms: median(times),
    first,
    pages: Math.round(((await pagesTouched(context)) - before) / times.length)
  }
}

/** Those whose price hangs on hours that are counted. */
const COUNTED = ["getOverview", "getEndpointStats, 24 h", "getEndpointStats, 30 days"]

const counting = async (bench, context, worker) => {
  const from = await reading(bench, posthorn, [worker.pid])
  await until(
    async () => {
      const { rows } = await context.client.query(
        "select max(hour) >= date_trunc('hour', now()) - interval '2 hours' as over from posthorn.hour_counts"
      )
      return rows[0].over
    },
    "hours are counted",
    { every: 500, within: 3_600_000 }
  )
  const to = await reading(bench, posthorn, [worker.pid])
  return { seconds: (to.at - from.at) / 1000, postgres: to.postgres - from.postgres }
}

const asked = async (bench, context, names) => {
  const server = await openPosthorn(context)
  const { rows } = await context.client.query(
    `select id as delivery, endpoint_id as endpoint, event_id as event from posthorn.deliveries
     where workspace_id = (select id from posthorn.workspaces) order by id desc limit 1`
  )
  const [newest] = rows
  const all = {}
  const every = questions({ ...newest, attempted: newest.delivery })
  for (const name of names ?? Object.keys(every)) {
    try {
      all[name] = await ask(server, context, every[name])
    } catch (error) {
      // Hours of a whole history that nobody has counted: the statement's time may be over before it is.
      if (names === undefined) throw error
      bench.say(`    ${name.padEnd(44)} no answer: ${error.message.slice(0, 120)}`)
      continue
    }
    const { first, ms, pages } = all[name]
    bench.say(
      `    ${name.padEnd(44)} ${ms.toFixed(1).padStart(8)} ms (first ${first.toFixed(1)}), ${pages} pages`
    )
  }
  await endWorker(server.child)
  return all
}

/** From the first delivery after the lead to the last: the worker's statements, and before that the publisher's. */
const delivered = async (bench, context, child, count) => {
  await enqueue(posthorn, context, LEAD)
  await drained(bench, posthorn, context, LEAD)
  const before = await reading(bench, posthorn, [child.pid])
  await enqueue(posthorn, context, count)
  await drained(bench, posthorn, context, LEAD + count)
  return costs(before, await reading(bench, posthorn, [child.pid]), count)
}

const on = (bench, rows, n) =>
  withContext(
    bench,
    posthorn,
    { endpoints: okEndpoints(bench.sink, ENDPOINTS), tag: "history" },
    async (context) => {
      const from = now()
      await writeRows(context.url, "delivered", rows, {
        ageSeconds: 1,
        lastsSeconds: DAYS * 86_400 - 3600,
        pad: 100,
        say: bench.say
      })
      const seconds = (now() - from) / 1000
      bench.say(`  on ${rows} rows of history, written in ${seconds.toFixed(0)} s`)
      const uncounted = await asked(bench, context, COUNTED)
      const worker = startWorker(posthorn, context)
      const counted = await counting(bench, context, worker)
      bench.say(
        `    hours counted after ${counted.seconds.toFixed(0)} s, with ${counted.postgres.toFixed(1)} s of PostgreSQL's CPU`
      )
      await context.client.query("vacuum analyze posthorn.hour_counts")
      const operations = await asked(bench, context)
      const engine = await delivered(bench, context, worker, n)
      await endWorker(worker)
      bench.say(
        `    publishing and delivering: PostgreSQL ${engine.postgres.toFixed(3)} ms, worker ${engine.node.toFixed(3)} ms`
      )
      return { rows, seconds, uncounted, counted, operations, engine }
    }
  )

export const history = async (bench, options) => ({
  scenario: "history",
  options,
  few: await on(bench, FEW, options.n),
  many: await on(bench, options.rows, options.n)
})
