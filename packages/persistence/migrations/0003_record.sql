-- Stores the observations of attempts, and all that follows, in one transaction. The first observation of an attempt wins, so a
-- call can be repeated.
-- Parameters: parallel lists in the order of delivery ids, each delivery once. `arrivals`: the order in which attempts finished.
-- `policies`: versions by which attempts were judged.
-- Returns: `changed`, endpoints with failed attempts that were judged by an old version of the policy. Nothing of theirs is stored.
-- Locks: endpoints, then deliveries, each in the order of ids. In a deadlock with a claim or the deletion of an endpoint this call
-- loses: its `lock_timeout` is below `deadlock_timeout`. Called by: Records.record, record_each.
create function posthorn.record(
  workspaces text[], deliveries text[], endpoints text[], generations integer[], ordinals smallint[], attempt_ids text[],
  statuses text[], began bigint[], durations integer[], http_statuses smallint[], failure_reasons text[], failure_details text[],
  signatures text[], request_headers text[], response_bodies text[], waits integer[], exhausteds boolean[],
  urls text[], response_headers text[], rate_limiteds boolean[], policies bigint[], failure_limits integer[], failing_fors integer[], gones boolean[],
  arrivals integer[], fixed_headers text
) returns table (recorded integer, dead_lettered integer, disabled text[], disabled_reasons text[], changed text[],
  too_late integer[], moment_micros bigint)
language plpgsql set search_path = pg_catalog, posthorn, pg_temp set lock_timeout = '500ms' as $$
declare
  moment constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  locked text[];
  stored integer[];
begin
  select w.recorded, w.dead_lettered, w.stored, w.locked, w.changed into recorded, dead_lettered, stored, locked, changed
  from posthorn.write_attempts(workspaces, deliveries, endpoints, ordinals, attempt_ids, statuses, began, durations, http_statuses,
    failure_reasons, failure_details, signatures, request_headers, response_bodies, waits, exhausteds, urls, response_headers, policies,
    fixed_headers, moment) w;
  if true = any (rate_limiteds) then
    insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
    select o.workspace_id, o.endpoint_id, timestamptz 'epoch' + o.began * interval '1 millisecond', o.attempt_id
    from unnest(workspaces, endpoints, began, attempt_ids, rate_limiteds) as o(workspace_id, endpoint_id, began, attempt_id, rate_limited)
    where o.rate_limited
    on conflict do nothing;
  end if;
  disabled := '{}';
  disabled_reasons := '{}';
  if locked is not null then
    select c.disabled, c.reasons into disabled, disabled_reasons
    from posthorn.count_failures(workspaces, deliveries, endpoints, generations, statuses, failure_reasons, failure_limits,
      failing_fors, gones, arrivals, stored, locked, moment) c;
  end if;
  too_late := '{}';
  if recorded < cardinality(deliveries) then
    too_late := posthorn.too_late(workspaces, deliveries, ordinals, attempt_ids, arrivals);
  end if;
  moment_micros := (date_part('epoch', moment) * 1000000)::bigint;
  return next;
end $$;

-- `record` for each row by itself: after the database has refused a row, stores all others.
-- Returns: `refused`, the `arrivals` of rows that were not stored; `refusals`, the reason for each. An error that no row has caused
-- ends the call. Locks: as `record`. Called by: Records.recordEach.
create function posthorn.record_each(
  workspaces text[], deliveries text[], endpoints text[], generations integer[], ordinals smallint[], attempt_ids text[],
  statuses text[], began bigint[], durations integer[], http_statuses smallint[], failure_reasons text[], failure_details text[],
  signatures text[], request_headers text[], response_bodies text[], waits integer[], exhausteds boolean[],
  urls text[], response_headers text[], rate_limiteds boolean[], policies bigint[], failure_limits integer[], failing_fors integer[], gones boolean[],
  arrivals integer[], fixed_headers text
) returns table (recorded integer, dead_lettered integer, disabled text[], disabled_reasons text[], changed text[],
  too_late integer[], moment_micros bigint, refused integer[], refusals text[])
language plpgsql set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  one record;
begin
  recorded := 0;
  dead_lettered := 0;
  disabled := '{}';
  disabled_reasons := '{}';
  changed := '{}';
  too_late := '{}';
  refused := '{}';
  refusals := '{}';
  moment_micros := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  for n in 1 .. cardinality(deliveries) loop
    begin
      select * into one from posthorn.record(workspaces[n:n], deliveries[n:n], endpoints[n:n], generations[n:n], ordinals[n:n], attempt_ids[n:n],
        statuses[n:n], began[n:n], durations[n:n], http_statuses[n:n], failure_reasons[n:n], failure_details[n:n], signatures[n:n],
        request_headers[n:n], response_bodies[n:n], waits[n:n], exhausteds[n:n], urls[n:n], response_headers[n:n],
        rate_limiteds[n:n], policies[n:n], failure_limits[n:n], failing_fors[n:n], gones[n:n], arrivals[n:n], fixed_headers);
      recorded := recorded + one.recorded;
      dead_lettered := dead_lettered + one.dead_lettered;
      disabled := disabled || one.disabled;
      disabled_reasons := disabled_reasons || one.disabled_reasons;
      changed := changed || one.changed;
      too_late := too_late || one.too_late;
      moment_micros := greatest(moment_micros, one.moment_micros);
    exception when others then
      if sqlstate !~ '^(22|23|P0|XX)' then raise; end if;
      refused := refused || arrivals[n];
      refusals := refusals || sqlerrm;
    end;
  end loop;
  return next;
end $$;

-- Stores attempts, and updates deliveries, queue and dead letters. Returns: `recorded`, how many were stored; `stored`, their
-- positions; `locked`, the endpoints whose streaks may change. Locks: these endpoints, then deliveries. Called by: record.
create function posthorn.write_attempts(
  workspaces text[], deliveries text[], endpoints text[], ordinals smallint[], attempt_ids text[], statuses text[],
  began bigint[], durations integer[], http_statuses smallint[], failure_reasons text[], failure_details text[], signatures text[],
  request_headers text[], response_bodies text[], waits integer[], exhausteds boolean[], urls text[], response_headers text[],
  policies bigint[], fixed_headers text, moment timestamptz,
  out recorded integer, out dead_lettered integer, out stored integer[], out locked text[], out changed text[]
) language plpgsql set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  opening constant text := left(fixed_headers, -1) || ',"webhook-id":"';
  meanwhile integer;
begin
  with touched as materialized (
    -- A healthy endpoint that stays healthy is not locked.
    select e.id, s.failing and posthorn.policy_version(e.policy,
        (select w.policy from posthorn.workspaces w where w.id = s.workspace_id)) <> any (s.policies) as changed
    from (select workspace_id, endpoint_id, bool_or(status <> 'delivered') as failing,
            array_agg(distinct policy) filter (where status <> 'delivered') as policies
          from unnest(workspaces, endpoints, statuses, policies) as o(workspace_id, endpoint_id, status, policy) group by 1, 2
          order by workspace_id collate "C", endpoint_id collate "C") s
    cross join lateral (
      select e.id, e.policy from posthorn.endpoints e
      where e.workspace_id = s.workspace_id and e.id = s.endpoint_id
        and (s.failing or e.consecutive_failures > 0 or e.recovers_from is not null)
      for no key update
    ) e
  ), endpoints_first as materialized (
    select array_agg(id) as ids, coalesce(array_agg(id) filter (where changed), '{}') as changed from touched
  ), first as materialized (
    -- Each row is looked up by itself: a join, planned while the queue was empty, would read a whole index for each row (2 ms).
    -- A `ctid` is unique only within a partition, so the id is compared too: by `is not distinct from`, which uses no index.
    select d.tid, q.tid as queue_tid, o.ordinal, moment + o.wait_ms * interval '1 millisecond' as retry_at,
      o.exhausted, o.status, timestamptz 'epoch' + o.began * interval '1 millisecond' as at, o.duration_ms,
      o.http_status, o.failure_reason, o.failure_detail, o.workspace_id, o.delivery_id, o.attempt_id, o.began, o.signature, o.request_headers,
      o.response_body, o.url, o.response_headers, d.trace_id, d.test, o.index as position
    from endpoints_first e,
      unnest(workspaces, endpoints, deliveries, ordinals, attempt_ids, statuses, began, durations, http_statuses, failure_reasons, failure_details,
        signatures, request_headers, response_bodies, waits, exhausteds, urls, response_headers) with ordinality
        as o(workspace_id, endpoint_id, delivery_id, ordinal, attempt_id, status, began, duration_ms, http_status, failure_reason, failure_detail,
          signature, request_headers, response_body, wait_ms, exhausted, url, response_headers, index)
    cross join lateral (
      select d.ctid as tid, d.trace_id, case when d.event_id is null then '","x-posthorn-test":"true"}' else '"}' end as test
      from posthorn.deliveries d
      where d.workspace_id = o.workspace_id and d.id = o.delivery_id and d.attempts = o.ordinal - 1
        and d.status in ('pending', 'failed') offset 0
    ) d
    left join lateral (
      select q.ctid as tid from posthorn.queue q
      where q.workspace_id = o.workspace_id and q.delivery_id = o.delivery_id offset 0
    ) q on true
    where o.endpoint_id <> all (e.changed)
  ), summaries as (
    update posthorn.deliveries d
    set status = f.status, attempts = f.ordinal, last_http_status = f.http_status,
        last_failure_reason = f.failure_reason, last_duration_ms = f.duration_ms, last_attempt_at = f.at,
        next_attempt_at = f.retry_at
    from first f where d.ctid = f.tid and d.id is not distinct from f.delivery_id and d.attempts = f.ordinal - 1
      and d.status in ('pending', 'failed')
    returning 1
  ), evidence as (
    insert into posthorn.attempts (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, http_status,
      failure_reason, failure_detail, url, request_headers, response_headers, response_body, trace_id)
    select workspace_id, delivery_id, ordinal, attempt_id, status, at, duration_ms, http_status, failure_reason, failure_detail, url,
      coalesce(f.request_headers, opening || delivery_id || '","webhook-timestamp":"' || began / 1000
        || '","webhook-signature":"' || signature || '","x-trace-id":"' || trace_id || test, '{}'),
      response_headers, response_body, trace_id
    from first f
    -- Attempts are inserted after the summaries: that update waits for transactions that record the same attempt.
    where (select count(*) from summaries) = (select count(*) from first)
  ), rescheduled as (
    update posthorn.queue q set due_at = f.retry_at, attempts = f.ordinal, claims = 0, at_once = false
    from first f
    where q.ctid = f.queue_tid and q.delivery_id is not distinct from f.delivery_id and f.retry_at is not null
    returning 1
  ), finished as (
    delete from posthorn.queue q using first f
    where q.ctid = f.queue_tid and q.delivery_id is not distinct from f.delivery_id and f.retry_at is null
    returning 1
  ), spent as (
    insert into posthorn.dead_letters (workspace_id, delivery_id, created_at)
    select workspace_id, delivery_id, moment from first where exhausted
    on conflict do nothing
    returning 1
  )
  select count(*), (select count(*) from spent), array_agg(position), (select ids from endpoints_first),
    (select e.changed from endpoints_first e), count(tid) + count(queue_tid) - (select count(*) from summaries) - (select count(*) from rescheduled)
      - (select count(*) from finished)
  into recorded, dead_lettered, stored, locked, changed, meanwhile
  from first;
  if meanwhile <> 0 then
    if cardinality(deliveries) > (select count(distinct d) from unnest(deliveries) as d) then
      raise exception 'posthorn.record: a delivery is there twice' using errcode = 'cardinality_violation';
    end if;
    raise exception 'posthorn.record: % rows were changed meanwhile', meanwhile using errcode = 'serialization_failure';
  end if;
end $$;

-- Returns the `arrivals` of observations that are not on record. Called by: record.
create function posthorn.too_late(
  workspaces text[], deliveries text[], ordinals smallint[], attempt_ids text[], arrivals integer[]
) returns integer[] language plpgsql set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
  return array(
    select o.arrival
    from unnest(workspaces, deliveries, ordinals, attempt_ids, arrivals)
      as o(workspace_id, delivery_id, ordinal, attempt_id, arrival)
    left join lateral (
      select a.id from posthorn.attempts a
      where a.workspace_id = o.workspace_id and a.delivery_id = o.delivery_id and a.ordinal = o.ordinal offset 0
    ) a on true
    where a.id is distinct from o.attempt_id
  );
end $$;

-- Updates the endpoints' streaks from the stored attempts, in the order in which these finished, and tells which endpoints are
-- failing, disabled or recovered (0013_operations.sql). An endpoint is failing at half of the failures, or of the time, that disable
-- it; under a policy that never does, at the tenth failure. Returns: the endpoints that this disables, and why (`disablingReason` in
-- domain/src/Verdict.ts). Locks: the caller has locked the endpoints; endpoints that get what is told, for at most 10 ms. If that
-- fails, the worker repeats `record` with the attempts of such an endpoint alone. Called by: record.
create function posthorn.count_failures(
  workspaces text[], deliveries text[], endpoints text[], generations integer[], statuses text[], failure_reasons text[],
  failure_limits integer[], failing_fors integer[], gones boolean[], arrivals integer[], stored integer[], locked text[],
  moment timestamptz,
  out disabled text[], out reasons text[]
) language plpgsql set search_path = pg_catalog, posthorn, pg_temp set lock_timeout = '10ms'
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  failing_for_least constant integer := 5;
  never_failing constant integer := 10;
  told record;
  happenings posthorn.happening[] := '{}';
begin
  disabled := '{}';
  reasons := '{}';
  for told in
    with counted as (
      select o.workspace_id, o.endpoint_id, o.delivery_id, o.position, o.status, o.failure_limit, o.failing_for, o.gone,
        e.consecutive_failures, e.failing_since, e.enabled, e.recovers_from,
        count(*) filter (where o.status = 'delivered')
          over (partition by o.workspace_id, o.endpoint_id order by o.position) as successes
      from unnest(workspaces, endpoints, deliveries, generations, statuses, failure_reasons, failure_limits, failing_fors, gones,
        arrivals) with ordinality as o(workspace_id, endpoint_id, delivery_id, generation, status, failure_reason, failure_limit,
          failing_for, gone, position, index)
      join posthorn.endpoints e
        on e.workspace_id = o.workspace_id and e.id = o.endpoint_id and e.generation = o.generation
      where o.index = any (stored) and o.endpoint_id = any (locked)
        and (o.failure_reason is null or o.failure_reason not in ('proxy_failed', 'auth_failed'))
    ), folded as (
      select workspace_id, endpoint_id, delivery_id, position, status, failure_limit, failing_for, gone, enabled, recovers_from, successes,
        count(*) filter (where status <> 'delivered')
          over (partition by workspace_id, endpoint_id, successes order by position)
          + case when successes = 0 then consecutive_failures else 0 end as streak,
        case when successes = 0 then coalesce(failing_since, moment) else moment end as since
      from counted
    ), ruled as (
      select *, case when status = 'delivered' then null
                     when gone then 'gone'
                     when streak >= failure_limit then 'consecutive_failures'
                     when streak >= failing_for_least and since + failing_for * interval '1 second' <= moment then 'failing_for'
                end as reason,
        status <> 'delivered' and case
          when failing_for is not null
            then 2 * streak >= failing_for_least and since + failing_for * interval '0.5 seconds' <= moment
          else 2 * streak >= coalesce(failure_limit, 2 * never_failing) end as failing
      from folded
    ), states as (
      -- What the next success recovers from after each attempt.
      select *, case when bool_or(failing) over (partition by workspace_id, endpoint_id, successes order by position) then 'failing'
                     when successes = 0 then recovers_from end as state
      from ruled
    ), changes as (
      select *, lag(state, 1, recovers_from) over (partition by workspace_id, endpoint_id order by position) as state_before,
        min(position) filter (where reason is not null) over (partition by workspace_id, endpoint_id) as broken_at
      from states
    ), breaking as (
      select distinct on (workspace_id, endpoint_id) workspace_id, endpoint_id, reason
      from ruled where reason is not null order by workspace_id, endpoint_id, position
    ), streaks as (
      select workspace_id, endpoint_id,
        (array_agg(streak order by position desc))[1]::integer as streak,
        (array_agg(since order by position desc))[1] as since,
        (array_agg(state order by position desc))[1] as state
      from states group by workspace_id, endpoint_id
    ), kept as (
      update posthorn.endpoints e
      set consecutive_failures = s.streak,
          failing_since = case when s.streak > 0 then s.since end,
          recovers_from = s.state,
          enabled = e.enabled and b.reason is null,
          disabled_reason = case when e.enabled then b.reason else e.disabled_reason end,
          disabled_at = case when e.enabled and b.reason is not null then moment else e.disabled_at end,
          updated_at = case when e.enabled and b.reason is not null then moment else e.updated_at end
      from streaks s left join breaking b on b.workspace_id = s.workspace_id and b.endpoint_id = s.endpoint_id
      where e.workspace_id = s.workspace_id and e.id = s.endpoint_id
    )
    select c.workspace_id, c.endpoint_id as id, c.delivery_id, c.streak::integer as streak, c.since, d.trace_id,
      c.reason, case when c.reason is not null then 'endpoint.disabled' when c.status = 'delivered' then 'endpoint.recovered'
        else 'endpoint.failing' end as kind
    from changes c
    join posthorn.deliveries d on d.workspace_id = c.workspace_id and d.id = c.delivery_id
    where c.enabled and (c.broken_at is null or c.position <= c.broken_at) and (c.reason is not null or case when c.status = 'delivered' then c.state_before is not null
      else c.state = 'failing' and c.state_before is distinct from 'failing' end)
    order by c.position
  loop
    happenings := happenings || row(told.workspace_id, told.kind, jsonb_strip_nulls(jsonb_build_object('endpointId', told.id,
      'deliveryId', told.delivery_id, 'reason', told.reason, 'consecutiveFailures', nullif(told.streak, 0),
      'failingSince', case when told.streak > 0 then posthorn.rfc3339(told.since) end)), told.trace_id)::posthorn.happening;
    continue when told.reason is null;
    disabled := disabled || told.id;
    reasons := reasons || told.reason;
    perform posthorn.endpoint_stopped(told.workspace_id, told.id, told.delivery_id, told.reason, told.streak, told.since,
      told.trace_id);
  end loop;
  perform posthorn.happened(happenings);
end $$;

-- Returns the endpoints for which `record` would wait. Locks: what `record` would lock, without waiting. Called by:
-- Records.blocked.
create function posthorn.blocked_endpoints(workspaces text[], deliveries text[], endpoints text[], statuses text[]) returns setof text
language plpgsql set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
  return query
  with asked as materialized (
    select * from unnest(workspaces, deliveries, endpoints, statuses) as o(workspace_id, delivery_id, endpoint_id, status)
  ), receivers as materialized (
    select workspace_id, endpoint_id, bool_or(status <> 'delivered') as failing from asked group by 1, 2
  ), held_endpoints as (
    select r.endpoint_id from receivers r
    cross join lateral (
      select e.id from posthorn.endpoints e
      where e.workspace_id = r.workspace_id and e.id = r.endpoint_id
        and (r.failing or e.consecutive_failures > 0 or e.recovers_from is not null) offset 0
    ) there
    left join lateral (
      select e.id from posthorn.endpoints e
      where e.workspace_id = r.workspace_id and e.id = r.endpoint_id for no key update skip locked
    ) free on true
    where free.id is null
  ), held_deliveries as (
    select a.endpoint_id from asked a
    cross join lateral (
      select d.id from posthorn.deliveries d where d.workspace_id = a.workspace_id and d.id = a.delivery_id offset 0
    ) there
    left join lateral (
      select d.id from posthorn.deliveries d
      where d.workspace_id = a.workspace_id and d.id = a.delivery_id for no key update skip locked
    ) free on true
    where free.id is null
  ), held_rows as (
    select a.endpoint_id from asked a
    cross join lateral (
      select q.delivery_id from posthorn.queue q
      where q.workspace_id = a.workspace_id and q.delivery_id = a.delivery_id offset 0
    ) there
    left join lateral (
      select q.delivery_id from posthorn.queue q
      where q.workspace_id = a.workspace_id and q.delivery_id = a.delivery_id for update skip locked
    ) free on true
    where free.delivery_id is null
  )
  select endpoint_id from held_endpoints union select endpoint_id from held_deliveries
    union select endpoint_id from held_rows;
end $$;

-- Writes the audit event, the notification and the announcement of an endpoint that was disabled by its failures. The notification
-- has the endpoint's losses, and the call that replays them. Locks: endpoints that subscribe to the announcement. Called by:
-- count_failures.
create function posthorn.endpoint_stopped(
  workspace text, endpoint text, delivery text, reason text, failures integer, failing_since timestamptz, trace text
) returns void language plpgsql set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  most constant integer := 1000;
  lost record;
begin
  insert into posthorn.audit_events (workspace_id, action, actor_type, actor_id, via, target_type, target_id, changes, trace_id)
  values (workspace, 'webhook.endpoint_auto_disabled', 'system', 'worker', 'worker', 'webhook_endpoint', endpoint,
    json_build_object('fields', json_build_array('enabled', 'disabledReason'), 'disabledReason', reason,
      'consecutiveFailures', failures, 'deliveryId', delivery), trace);
  select l.stopped, l.more_stopped, l.missed, l.more_missed, w.slug,
    -- `losses` lacks the delivery that failed last: it is dead-lettered later.
    posthorn.rfc3339(least(l.stopped_since, l.missed_since, d.created_at)) as since
  into lost
  from posthorn.losses(workspace, endpoint, most) l
  join posthorn.workspaces w on w.id = workspace
  join posthorn.deliveries d on d.workspace_id = workspace and d.id = delivery;
  insert into posthorn.notifications (workspace_id, kind, message, endpoint_id, delivery_id)
  values (workspace, 'endpoint_disabled',
    format('Endpoint %s was disabled %s. Lost so far: %s%s given up, %s%s missed; events that are published while it is disabled are missed too. Fix the receiver and enable the endpoint; then this sends all of it again: POST /workspaces/%s/webhooks/%s/replays with %s (add "dryRun":true to count first).',
      endpoint,
      case reason when 'gone' then 'because its receiver answered 410 Gone'
        when 'failing_for' then format('after %s failures in a row since %s', failures, posthorn.rfc3339(failing_since))
        else format('after %s failures in a row', failures) end,
      lost.stopped || case when lost.stopped = 1 then ' delivery' else ' deliveries' end,
      case when lost.more_stopped then ' or more' else '' end,
      lost.missed || case when lost.missed = 1 then ' event' else ' events' end,
      case when lost.more_missed then ' or more' else '' end,
      lost.slug, endpoint, format('{"since":"%s","includeMissed":true}', lost.since)), endpoint, delivery);
  perform posthorn.announce(workspace, 'webhook.endpoint_disabled',
    json_build_object('endpointId', endpoint, 'reason', reason)::text, trace, endpoint,
    posthorn.actor_text('system', 'worker', 'worker'));
end $$;

-- Takes up to `batch` dead letters, marks their deliveries `dead_lettered`, and notifies the workspaces. Returns: letters taken,
-- and deliveries marked. Locks: deliveries, then dead letters; skips locked deliveries. Called by: Records.deadLetter.
create function posthorn.dead_letter(batch integer, out processed integer, out marked integer)
language plpgsql set search_path = pg_catalog, posthorn, pg_temp set lock_timeout = '500ms'
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  letter record;
  happening posthorn.happening;
  happenings posthorn.happening[] := '{}';
begin
  processed := 0;
  marked := 0;
  for letter in
    with due as materialized (
      select l.workspace_id, l.delivery_id from posthorn.dead_letters l
      join posthorn.deliveries d on d.workspace_id = l.workspace_id and d.id = l.delivery_id
      order by l.workspace_id, l.delivery_id limit batch for update of d skip locked
    )
    delete from posthorn.dead_letters l using due
    where l.workspace_id = due.workspace_id and l.delivery_id = due.delivery_id
    returning l.workspace_id, l.delivery_id, l.reason
  loop
    processed := processed + 1;
    update posthorn.deliveries d
      set status = 'dead_lettered', next_attempt_at = null, dead_letter_reason = letter.reason
      where d.workspace_id = letter.workspace_id and d.id = letter.delivery_id and d.status in ('pending', 'failed')
      returning d.workspace_id, 'delivery.dead_lettered', jsonb_strip_nulls(jsonb_build_object('endpointId', d.endpoint_id,
        'deliveryId', d.id, 'eventId', d.event_id, 'eventType', d.event_type, 'replayId', d.replay_id, 'reason', letter.reason)), d.trace_id
      into happening;
    -- An owner that seemed dead may have recorded an outcome.
    continue when not found;
    marked := marked + 1;
    happenings := happenings || happening;
    begin
      insert into posthorn.notifications (workspace_id, kind, message, endpoint_id, delivery_id)
      select d.workspace_id, 'delivery_dead_lettered',
        case letter.reason
          when 'retries_spent' then
            format('Endpoint %s stopped receiving: delivery %s (%s) was given up after %s attempts. Fix the receiver, then replay it.',
              d.endpoint_id, d.id, d.event_type, d.attempts)
          when 'never_sent' then
            format('Delivery %s (%s) was given up and was never sent to endpoint %s: the worker failed each time it prepared it. Ask the operator for what the worker''s log says of it, then replay it.',
              d.id, d.event_type, d.endpoint_id)
          else
            format('Delivery %s (%s) was given up: it was claimed again and again, each time the worker ended before an outcome was on record. Endpoint %s may have received it. Ask the operator for the workers'' logs, then replay it.',
              d.id, d.event_type, d.endpoint_id)
        end, d.endpoint_id, d.id
      from posthorn.deliveries d where d.workspace_id = letter.workspace_id and d.id = letter.delivery_id
      on conflict do nothing;
    exception when others then
      raise warning 'posthorn: no notification for dead letter %: %', letter.delivery_id, sqlerrm;
    end;
  end loop;
  perform posthorn.happened(happenings);
end $$;
