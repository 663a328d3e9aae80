/**
 * Much that was published, written set by set in the form that publishing and recording give it: an event and a delivery
 * each, and a queue row for what is due or an attempt for what was delivered. Without triggers, as they guard nothing here;
 * all indexes are there and grow with it. Spread over all endpoints of all workspaces, in order of time, the oldest first.
 */
import { connect } from "../Servers.mjs"

const CHUNK = 250_000

const id = (prefix) =>
  `'${prefix}' || lpad(to_hex((extract(epoch from at) * 1000000 + n % 1000)::bigint), 13, '0') || substr(md5(n::text), 1, 16)`

const made = (from, to, { ageSeconds, lastsSeconds, pad, total }) => `
  target as (
    select array_agg(id::text order by id) as ids, array_agg(workspace_id::text order by id) as workspaces,
      array_agg(event_types[1] order by id) as types, count(*)::int as count from posthorn.endpoints
  ), timed as (
    select n, now() - (${ageSeconds} + ${lastsSeconds}::float8 * (1 - n::float8 / ${total})) * interval '1 second' as at
    from generate_series(${from}, ${to}) n
  ), made as materialized (
    select n, ${id("evt_")} as event_id, ${id("whd_")} as id, ids[1 + n % count] as endpoint_id,
      workspaces[1 + n % count] as workspace_id, types[1 + n % count] as event_type,
      date_trunc('milliseconds', at) as at, '{"sent":0,"n":' || n || ',"pad":"${"x".repeat(pad)}"}' as payload
    from timed, target
  ), published as (
    insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, created_at)
    select workspace_id, event_id, event_type, payload, posthorn.own_trace(event_id), 1, 0, at from made
  )`

const due = (...of) => `with ${made(...of)}, queued as (
    insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
    select workspace_id, id, endpoint_id, posthorn.shard_of(endpoint_id), at from made
  )
  insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, next_attempt_at, created_at)
  select workspace_id, id, endpoint_id, event_id, event_type, posthorn.own_trace(event_id), at, at from made`

const delivered = (...of) => `with ${made(...of)}, attempted as (
    insert into posthorn.attempts (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, http_status, url,
      request_headers, response_headers, response_body, trace_id)
    select workspace_id, id, 1, 'wha_' || substr(id, 5), 'delivered', at, 1 + n % 40, 200, 'https://receiver.example.com/hooks/7',
      '{"user-agent":"' || repeat('h', 290) || '"}', '{"content-type":"text/plain"}', 'ok', posthorn.own_trace(event_id) from made
  )
  insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, status, attempts,
    last_http_status, last_duration_ms, last_attempt_at, created_at)
  select workspace_id, id, endpoint_id, event_id, event_type, posthorn.own_trace(event_id), 'delivered', 1, 200, 1 + n % 40, at, at
  from made`

const forms = { due, delivered }

/** `form`: `due` or `delivered`. The newest is `ageSeconds` old, the oldest `lastsSeconds` older. */
export const writeRows = async (
  url,
  form,
  total,
  { ageSeconds, lastsSeconds, pad = 330, say = () => undefined }
) => {
  const client = await connect(url)
  await client.query("set session_replication_role = replica; set synchronous_commit = off")
  for (let from = 1; from <= total; from += CHUNK) {
    const to = Math.min(total, from + CHUNK - 1)
    await client.query(forms[form](from, to, { ageSeconds, lastsSeconds, pad, total }))
    if (to % 1_000_000 === 0) say(`  ${to / 1e6}M rows written`)
  }
  await client.query("vacuum analyze")
  await client.query("checkpoint")
  await client.end()
}
