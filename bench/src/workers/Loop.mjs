/**
 * The least a delivery worker can be: one process that owns the whole queue, reads ahead past a watermark, keeps 100
 * requests in flight, and writes evidence, summary and the end of the queue row in one statement per group. No retries,
 * no fairness, no second worker, no take-over: a mark for what the hardware allows, not a design.
 */
import pg from "pg"
import { deliver, environment, makeLedger } from "./Given.mjs"

const SLOTS = 100
const READ = 1000
const pool = new pg.Pool({ connectionString: environment.databaseUrl, max: 4 })
const jobs = []
let next = 0
let inFlight = 0
let reading = false
let due = "-infinity"
let last = ""
let again = false

const ledger = makeLedger(
  pool,
  ", finished as (delete from bench.queue q using seen s where q.delivery_id = s.id)"
)

const READ_ON = `select q.delivery_id as id, q.endpoint_id as endpoint, d.event_type as "eventType", d.payload,
    q.due_at::text as due
  from bench.queue q join bench.deliveries d on d.id = q.delivery_id
  where (q.due_at, q.delivery_id) > ($1::timestamptz, $2) and q.due_at <= now() order by q.due_at, q.delivery_id limit $3`

const read = async () => {
  if (reading) {
    again = true
    return
  }
  reading = true
  do {
    again = false
    const { rows } = await pool.query({ name: "read", text: READ_ON, values: [due, last, READ] })
    if (rows.length === 0) continue
    due = rows[rows.length - 1].due
    last = rows[rows.length - 1].id
    if (next === jobs.length) jobs.length = next = 0
    jobs.push(...rows)
    send()
    again ||= rows.length === READ && jobs.length - next < READ
  } while (again)
  reading = false
}

const send = () => {
  while (inFlight < SLOTS && next < jobs.length) {
    inFlight += 1
    deliver(jobs[next++], (evidence) => {
      inFlight -= 1
      ledger.add(evidence)
      send()
    })
  }
  if (jobs.length - next < READ / 2 && !reading) void read()
}

const listener = new pg.Client({ connectionString: environment.databaseUrl })
await listener.connect()
listener.on("notification", read)
await listener.query("listen bench")
setInterval(read, 500)
await read()
