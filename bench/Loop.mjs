/**
 * A plain loop to compare Posthorn with: an HTTP server that inserts a row for each delivery and notifies, and a worker that
 * reads new rows in order, keeps 100 requests in flight, signs them, and records the outcomes in groups. It has no retries,
 * no fairness, no tenants and no second worker. It shows what Node and PostgreSQL can reach, and is no design to follow.
 */
import { createHmac, randomUUID } from "node:crypto"
import { Agent, createServer, request } from "node:http"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { freePort, start, until } from "./Machine.mjs"

const pg = createRequire(new URL("../packages/persistence/package.json", import.meta.url))("pg")
const file = fileURLToPath(import.meta.url)

const SCHEMA = `
  create schema loop;
  create table loop.endpoints (url text primary key, event_types text[] not null);
  create table loop.deliveries (
    id bigint generated always as identity primary key, url text not null, payload text not null,
    status text not null default 'pending', http_status smallint, duration_ms integer, response text,
    created_at timestamptz not null default now(), attempted_at timestamptz
  ) with (fillfactor = 60);
  create index on loop.deliveries (id) where status = 'pending'`

const INSERT = `with made as (
    insert into loop.deliveries (url, payload)
    select e.url, p.payload from unnest($1::text[], $2::text[]) as p(type, payload) join loop.endpoints e on p.type = any(e.event_types)
    returning id
  ), told as (select pg_notify('loop', ''))
  select made.id from made, told`

const serve = () => {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 })
  const answer = async (request, response) => {
    let text = ""
    for await (const chunk of request.setEncoding("utf8")) text += chunk
    const authorized = request.headers.authorization === `Bearer ${process.env.TOKEN}`
    if (!authorized) return response.writeHead(401).end()
    const { eventType, payload } = JSON.parse(text)
    const values = [[eventType], [JSON.stringify(payload)]]
    const { rows } = await pool.query({ name: "insert", text: INSERT, values })
    const body = JSON.stringify({ deliveryIds: rows.map(({ id }) => id) })
    response.writeHead(202, { "content-type": "application/json", "content-length": body.length }).end(body)
  }
  createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end())
  }).listen(Number(process.env.PORT), "127.0.0.1")
}

const SLOTS = 100
const READ = `select id, url, payload from loop.deliveries where status = 'pending' and id <> all($1::bigint[]) order by id limit 1000`
const RECORD = `update loop.deliveries d set status = s.status, http_status = s.http, duration_ms = s.duration, response = s.response,
    attempted_at = now()
  from unnest($1::bigint[], $2::text[], $3::smallint[], $4::int[], $5::text[]) as s(id, status, http, duration, response)
  where d.id = s.id`

const agent = new Agent({ keepAlive: true, maxSockets: SLOTS })

const deliver = ({ id, payload, url }) =>
  new Promise((resolve) => {
    const began = performance.now()
    const done = (status, response) => resolve([id, status, Math.round(performance.now() - began), response])
    const at = String(Math.floor(Date.now() / 1000))
    const signature = createHmac("sha256", "secret").update(`${id}.${at}.${payload}`).digest("base64")
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(payload),
      "webhook-id": id,
      "webhook-timestamp": at,
      "webhook-signature": `v1,${signature}`
    }
    const sent = request(url, { method: "POST", agent, headers, timeout: 10_000 }, async (answer) => {
      let text = ""
      for await (const chunk of answer.setEncoding("utf8")) text += chunk
      done(answer.statusCode, text)
    })
    sent.on("timeout", () => sent.destroy(new Error("timeout")))
    sent.on("error", (error) => done(null, error.message))
    sent.end(payload)
  })

const work = async () => {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 })
  /** Read, but not recorded yet. */
  const known = new Set()
  let busy = 0
  let reading = false
  let again = false
  let waiting = []
  const results = []
  let recording = false

  const record = async () => {
    if (recording) return
    recording = true
    while (results.length > 0) {
      const some = results.splice(0)
      const columns = [
        some.map(([id]) => id),
        some.map(([, http]) => (http >= 200 && http < 300 ? "delivered" : "failed")),
        some.map(([, http]) => http),
        some.map(([, , duration]) => duration),
        some.map(([, , , response]) => response)
      ]
      await pool.query({ name: "record", text: RECORD, values: columns })
      for (const [id] of some) known.delete(id)
    }
    recording = false
  }
  const send = () => {
    while (busy < SLOTS && waiting.length > 0) {
      busy += 1
      deliver(waiting.shift()).then((result) => {
        busy -= 1
        results.push(result)
        void record()
        send()
      })
    }
    if (again && waiting.length < SLOTS) void read()
  }
  const read = async () => {
    if (reading || waiting.length >= SLOTS) {
      again = true
      return
    }
    reading = true
    again = false
    const { rows } = await pool.query({ name: "read", text: READ, values: [[...known]] })
    reading = false
    if (rows.length === 0) return
    for (const { id } of rows) known.add(id)
    waiting = waiting.concat(rows)
    again ||= rows.length === 1000
    send()
  }
  const listener = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await listener.connect()
  listener.on("notification", read)
  await listener.query("listen loop")
  setInterval(read, 1000)
  await read()
}

const open = async (url, endpoints) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(SCHEMA)
  for (const endpoint of endpoints)
    await client.query("insert into loop.endpoints values ($1, $2)", [endpoint.url, endpoint.eventTypes])
  await client.end()
  const port = await freePort()
  const token = randomUUID()
  const env = { DATABASE_URL: url, TOKEN: token, PORT: String(port) }
  const server = start([file, "serve"], env)
  const origin = `http://127.0.0.1:${port}`
  const answers = () => fetch(origin).then(Boolean, () => false)
  await until(answers, "the loop's server answers", { every: 50 })
  return {
    origin,
    token,
    serve: server,
    startWork: () => start([file, "work"], env),
    settled: async () => undefined
  }
}

export const loop = {
  name: "plain loop",
  open,
  publishSql: (eventType, payload) => ({ name: "publish", text: INSERT, values: [[eventType], [payload]] }),
  publishAll: (eventTypes, payloads) => ({ text: INSERT, values: [eventTypes, payloads] })
}

if (process.argv[1] === file) await (process.argv[2] === "serve" ? serve() : work())
