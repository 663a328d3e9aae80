/**
 * Publishing and reading, while nobody delivers. REST: single events from 64 connections and from one, a list of 50
 * deliveries, and one endpoint. SQL: 32 connections, each with transactions that insert an order and publish, compared with
 * a plain insert into an outbox table instead. A transaction goes to PostgreSQL as one message of prepared statements, so
 * that the client takes little of the time.
 */
import { now } from "../Machine.mjs"
import { drive, eventType, payload, publishes } from "../Requests.mjs"

const CONNECTIONS = 32

const APPLICATION = `
  create schema app;
  create table app.orders (
    id bigint generated always as identity primary key, customer text not null, amount numeric not null,
    note text not null, created_at timestamptz not null default now()
  );
  create index on app.orders (customer, created_at);
  create table app.outbox (
    id bigint generated always as identity primary key, event_type text not null, payload json not null,
    created_at timestamptz not null default now()
  )`

const ORDER =
  "prepare app_order(text, numeric, text) as insert into app.orders (customer, amount, note) values ($1, $2, $3)"

const WAYS = {
  posthorn: "prepare publish(text, json) as select posthorn.publish('bench', $1, $2)",
  outbox: "prepare publish(text, json) as insert into app.outbox (event_type, payload) values ($1, $2)"
}

const transaction = (n) =>
  `begin; execute app_order('customer-${n % 5000}', ${(n % 900) + 0.5}, 'Two of these, one of those'); ` +
  `execute publish('${eventType(n)}', '${payload(n)}'); commit`

/** Transactions a second, and milliseconds of PostgreSQL's CPU for each. */
const sql = async (bench, url, way, seconds) => {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => bench.connect(url)))
  for (const client of clients) {
    await client.query(ORDER)
    await client.query(WAYS[way])
  }
  let n = 0
  const loop = (end) => async (client) => {
    while (now() < end) await client.query(transaction(n++))
  }
  await Promise.all(clients.map(loop(now() + 500)))
  n = 0
  const [began, cpu] = [now(), bench.postgresCpu()]
  await Promise.all(clients.map(loop(began + seconds * 1000)))
  const [took, used] = [(now() - began) / 1000, bench.postgresCpu() - cpu]
  for (const client of clients) await client.end()
  return { rate: n / took, cpu: (used * 1000) / n }
}

const rest = async (opened, seconds) => {
  const publish = publishes(opened)
  await drive(opened, publish, 64, { seconds: Math.max(4, seconds) })
  const many = await drive(opened, publish, 64, { seconds })
  const alone = await drive(opened, publish, 1, { seconds: seconds / 2 })
  const figures = {
    "publish, 64 connections: a second": many.rate,
    "publish, 64 connections: p99 ms": many.p99,
    "publish, one at a time: a second": alone.rate,
    "publish, one at a time: p50 ms": alone.p50
  }
  if (opened.endpoints === undefined) return figures
  const get = (path) => (connection) => connection.send("GET", path)
  const list = get("/workspaces/bench/webhooks/deliveries?limit=50")
  const one = get(`/workspaces/bench/webhooks/${opened.endpoints[0].id}`)
  await drive(opened, list, 32, { seconds: 1 })
  return {
    ...figures,
    "a list of 50: a second": (await drive(opened, list, 32, { seconds: seconds / 2 })).rate,
    "one endpoint: a second": (await drive(opened, one, 32, { seconds: seconds / 2 })).rate
  }
}

export const publish = {
  seconds: 4,
  endpoints: (sink) =>
    Array.from({ length: 50 }, (_, n) => ({ url: `${sink.origin}/${n}`, eventTypes: [eventType(n)] })),
  run: async (bench, { opened, url }, { seconds }) => {
    const figures = await rest(opened, seconds)
    if (opened.endpoints === undefined) return figures
    const client = await bench.connect(url)
    await client.query(APPLICATION)
    await client.end()
    const ours = await sql(bench, url, "posthorn", seconds)
    const outbox = await sql(bench, url, "outbox", seconds)
    return {
      ...figures,
      "posthorn.publish, 32 connections: a second": ours.rate,
      "posthorn.publish: ms of PostgreSQL's CPU": ours.cpu,
      "plain outbox insert, 32 connections: a second": outbox.rate,
      "posthorn.publish to a plain insert": ours.rate / outbox.rate
    }
  }
}
