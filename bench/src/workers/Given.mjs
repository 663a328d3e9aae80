/**
 * What every tuned competitor is given: Posthorn's HTTP client without Effect, its signature, and evidence written in
 * groups (one statement for all that finished while the last one ran). Better than their usual use, so that what is
 * compared is the engine and not the habits around it.
 */
import { open, signWithKeys } from "../../build/shared.mjs"

export const environment = JSON.parse(process.env.BENCH_GIVEN)

const key = Buffer.from(environment.key, "base64")

export const urlOf = new Map(environment.endpoints.map(({ id, url }) => [id, url]))

export const client = open({
  userAgent: "Posthorn-Bench/1",
  refuses: () => false,
  requestTimeoutMs: environment.requestTimeoutMs
})

const fixed = `${JSON.stringify(client.fixedHeaders).slice(0, -1)},`

export const signed = (job) => {
  const body = `{"deliveryId":"${job.id}","eventType":"${job.eventType}","payload":${job.payload}}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const headers = {
    "webhook-id": job.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signWithKeys(job.id, timestamp, body, [key]),
    "x-trace-id": job.id.slice(-32)
  }
  return { url: urlOf.get(job.endpoint), body, headers }
}

/** Sends one delivery; `done` gets the row of evidence. */
export const deliver = (job, done) => {
  const request = signed(job)
  const at = new Date().toISOString()
  client.send(request, (seen) => {
    const status = seen?.httpStatus >= 200 && seen.httpStatus < 300 ? "delivered" : "failed"
    done({
      id: job.id,
      ordinal: 1,
      status,
      at,
      durationMs: seen?.durationMs ?? 0,
      httpStatus: seen?.httpStatus ?? null,
      failureReason: seen?.failureReason ?? (status === "failed" ? "http_status" : null),
      headers: fixed + JSON.stringify(request.headers).slice(1),
      body: seen?.responseBody ?? null
    })
  })
}

const COLUMNS = [
  "id",
  "ordinal",
  "status",
  "at",
  "durationMs",
  "httpStatus",
  "failureReason",
  "headers",
  "body"
]

const RECORD = (extra) => `with seen as (
    select * from unnest($1::text[], $2::smallint[], $3::text[], $4::timestamptz[], $5::int[], $6::smallint[], $7::text[],
      $8::text[], $9::text[]) as s(id, ordinal, status, at, duration_ms, http_status, failure_reason, headers, body)
  ), evidence as (
    insert into bench.attempts select * from seen on conflict do nothing
  )${extra}
  update bench.deliveries d set status = s.status, attempts = s.ordinal, last_http_status = s.http_status,
    last_failure_reason = s.failure_reason, last_duration_ms = s.duration_ms, last_attempt_at = s.at
  from seen s where d.id = s.id`

/** Group commit. `record(evidence)` calls back, or resolves, once the row is committed. */
export const makeLedger = (pool, extra = "", onRecorded = () => undefined) => {
  const text = RECORD(extra)
  const waiting = []
  let writing = false
  const write = async () => {
    writing = true
    while (waiting.length > 0) {
      const group = waiting.splice(0, 500)
      const values = COLUMNS.map((column) => group.map(({ evidence }) => evidence[column]))
      await pool.query({ name: "record", text, values })
      for (const { resolve } of group) resolve?.()
      onRecorded(group)
    }
    writing = false
  }
  const add = (evidence, resolve) => {
    waiting.push({ evidence, resolve })
    if (!writing) queueMicrotask(() => writing || write())
  }
  return { add, record: (evidence) => new Promise((resolve) => add(evidence, resolve)) }
}

export const deliverAndRecord = (ledger) => (job) =>
  new Promise((resolve) => deliver(job, (evidence) => ledger.add(evidence, resolve)))

/** As such a worker is usually written: `fetch`, and a statement for each delivery. */
export const deliverAsUsual = (pool) => async (job) => {
  const request = signed(job)
  const at = new Date()
  const started = performance.now()
  let httpStatus = null
  let failureReason = null
  let text = null
  try {
    const response = await fetch(request.url, {
      method: "POST",
      body: request.body,
      headers: { "content-type": "application/json", "user-agent": "Posthorn-Bench/1", ...request.headers },
      redirect: "manual",
      signal: AbortSignal.timeout(environment.requestTimeoutMs)
    })
    httpStatus = response.status
    text = (await response.text()).slice(0, 2048)
    if (!response.ok) failureReason = "http_status"
  } catch (error) {
    failureReason = error.name === "TimeoutError" ? "request_timeout" : "connection_failed"
  }
  const status = failureReason === null ? "delivered" : "failed"
  await pool.query({
    name: "record",
    text: `with evidence as (insert into bench.attempts values ($1, 1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing)
      update bench.deliveries set status = $2, attempts = 1, last_http_status = $5, last_failure_reason = $6,
        last_duration_ms = $4, last_attempt_at = $3 where id = $1`,
    values: [
      job.id,
      status,
      at,
      Math.round(performance.now() - started),
      httpStatus,
      failureReason,
      JSON.stringify(request.headers),
      text
    ]
  })
}
