/** States that must never occur in the database, each with the statement that finds the ids concerned. */
export const WRONG = {
  "attempts whose ordinals are not 1 to n, or not what the summary says": `
    select d.id from posthorn.deliveries d
    left join posthorn.attempts a on a.workspace_id = d.workspace_id and a.delivery_id = d.id
    group by d.workspace_id, d.id
    having count(a.ordinal) <> d.attempts or coalesce(max(a.ordinal), 0) <> d.attempts`,
  "summaries that are not their last attempt": `
    select d.id from posthorn.deliveries d join posthorn.attempts a
      on a.workspace_id = d.workspace_id and a.delivery_id = d.id and a.ordinal = d.attempts
    where (a.http_status, a.failure_reason, a.duration_ms, a.at)
      is distinct from (d.last_http_status, d.last_failure_reason, d.last_duration_ms, d.last_attempt_at)
      or (d.status <> 'dead_lettered' and d.status <> a.status)`,
  "deliveries that are neither finished nor waiting, or both": `
    select d.id from posthorn.deliveries d
    left join posthorn.queue q on q.workspace_id = d.workspace_id and q.delivery_id = d.id
    left join posthorn.dead_letters l on l.workspace_id = d.workspace_id and l.delivery_id = d.id
    where (d.status in ('pending', 'failed')) <> (q.delivery_id is not null or l.delivery_id is not null)
      or (q.delivery_id is not null and (q.attempts <> d.attempts or q.due_at <> d.next_attempt_at))`,
  "waiting deliveries in a shard that is not their endpoint's": `
    select delivery_id as id from posthorn.queue where shard <> posthorn.shard_of(endpoint_id)`
}
