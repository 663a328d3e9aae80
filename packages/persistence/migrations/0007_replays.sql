-- Replays: the record of failed deliveries, jobs that replay them, and a job's steps. A step is one transaction with new
-- deliveries, their audit events and the job's position. Whoever locks the job's row makes its step.

-- Deliveries that failed and were not delivered since: a million are counted in 0.3 s. Triggers maintain it on updates only:
-- code that inserts failed deliveries must insert these rows too.
create table posthorn.failed_deliveries (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  created_at timestamptz(3) not null,
  delivery_id text collate "C" not null,
  status text collate "C" not null check (status in ('failed', 'failed_permanent', 'dead_lettered')),
  is_test boolean not null default false,
  -- The later replay or resend to the same endpoint that was delivered.
  recovered_by text collate "C",
  -- The latest such replay or resend that may still be delivered.
  under_way text collate "C",
  -- The transactions of the first failure, of giving up, and of the last change above: a job covers what its snapshot sees.
  failed_by xid8 not null default pg_current_xact_id(),
  ended_by xid8,
  made_up_by xid8,
  primary key (workspace_id, endpoint_id, created_at, delivery_id) include (status, is_test, recovered_by, under_way)
);
create index failed_deliveries_recovered on posthorn.failed_deliveries (workspace_id, created_at)
  where recovered_by is not null and status <> 'failed';

-- Keys of the failures that a replay makes up for: the earlier failures of the event at the endpoint; for a test send, the failure
-- of its source. Looks at the newest 100 replays of the event only. Called by: note_failure, replay.
create function posthorn.made_up_for(workspace text, endpoint text, event text, source text, replay text)
returns table (created_at timestamptz, delivery_id text) language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  with siblings as (
    select d.id, d.replayed_from from posthorn.deliveries d
    where d.workspace_id = workspace and d.event_id = event and d.endpoint_id = endpoint and d.id < replay
      and (d.replayed_from is not null or d.replay_id is not null)
    order by d.id desc limit 100
  )
  select d.created_at, d.id from (
    select source as id union select s.id from siblings s union select s.replayed_from from siblings s
  ) made join posthorn.deliveries d on d.workspace_id = workspace and d.id = made.id
$$;

create function posthorn.note_failure() returns trigger language plpgsql
set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  is_replay constant boolean := new.replayed_from is not null;
  recovered text;
  waiting text;
begin
  -- Several replays of an event may be under way.
  if is_replay and new.status <> 'delivered' then
    select max(d.id) filter (where d.status = 'delivered'), max(d.id) filter (where d.status in ('pending', 'failed'))
    into recovered, waiting
    from posthorn.deliveries d
    where d.workspace_id = new.workspace_id and d.event_id = new.event_id and d.endpoint_id = new.endpoint_id
      and (d.replayed_from is not null or d.replay_id is not null);
  end if;
  if new.status <> 'delivered' then
    insert into posthorn.failed_deliveries as f
      (workspace_id, endpoint_id, created_at, delivery_id, status, is_test, recovered_by, under_way, ended_by)
    values (new.workspace_id, new.endpoint_id, new.created_at, new.id, new.status, new.event_id is null,
      case when recovered > new.id then recovered end, case when waiting > new.id then waiting end,
      case when new.status <> 'failed' then pg_current_xact_id() end)
    on conflict (workspace_id, endpoint_id, created_at, delivery_id) do update
      set status = excluded.status, ended_by = excluded.ended_by;
  elsif old.status = 'failed' then
    delete from posthorn.failed_deliveries
    where workspace_id = new.workspace_id and endpoint_id = new.endpoint_id and created_at = new.created_at
      and delivery_id = new.id;
  end if;
  -- A delivered replay recovers the failures that it makes up for. One that is given up is no longer under way for them.
  if is_replay and new.status <> 'failed' then
    update posthorn.failed_deliveries f
    set recovered_by = coalesce(f.recovered_by, case when new.status = 'delivered' then new.id end),
      under_way = case when f.under_way <> new.id then f.under_way when waiting > f.delivery_id then waiting end,
      made_up_by = pg_current_xact_id()
    from posthorn.made_up_for(new.workspace_id, new.endpoint_id, new.event_id, new.replayed_from, new.id) m
    where f.workspace_id = new.workspace_id and f.endpoint_id = new.endpoint_id and f.created_at = m.created_at
      and f.delivery_id = m.delivery_id and (new.status = 'delivered' or f.under_way = new.id);
  end if;
  return null;
end $$;

-- No trigger for inserts: 20 us of each lone publish.
create trigger deliveries_fail after update of status on posthorn.deliveries for each row
  when (old.status <> new.status and (old.status = 'failed' or new.status in ('failed', 'failed_permanent', 'dead_lettered')
    or new.status = 'delivered' and new.replayed_from is not null))
  execute function posthorn.note_failure();

create function posthorn.forget_failures() returns trigger language plpgsql
set search_path = pg_catalog, posthorn, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from posthorn.failed_deliveries f using removed d
  where d.status in ('failed', 'failed_permanent', 'dead_lettered') and f.workspace_id = d.workspace_id
    and f.endpoint_id = d.endpoint_id and f.created_at = d.created_at and f.delivery_id = d.id;
  return null;
end $$;

create trigger failed_deliveries_follow after delete on posthorn.deliveries
  referencing old table as removed for each statement execute function posthorn.forget_failures();

create table posthorn.replays (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  shard smallint not null,
  statuses text[] not null check (statuses <@ '{failed,failed_permanent,dead_lettered}' and cardinality(statuses) > 0),
  since timestamptz(3) not null,
  until timestamptz(3),
  include_missed boolean not null,
  -- Then the endpoint's wishes as they were at the start, from when on (history is not kept longer), and the beginnings of the types
  -- whose payloads the caller could not see.
  include_unsent boolean not null default false,
  unsent_since timestamptz(3),
  hidden text[] not null default '{}',
  event_types text[],
  filter_path jsonpath,
  filter_program jsonb,
  include_recovered boolean not null,
  include_tests boolean not null,
  state text collate "C" not null default 'running' check (state in ('running', 'done', 'cancelled')),
  -- Deliveries and events at the start; `missed` of them are missed events, `unsent` of them events that were neither sent nor missed.
  matched bigint not null,
  missed bigint not null,
  unsent bigint not null default 0,
  recovered bigint not null,
  under_way bigint not null,
  tests bigint not null,
  replayed bigint not null default 0,
  failed bigint not null default 0,
  -- The job replays what existed at its start.
  snapshot pg_snapshot not null default pg_current_snapshot(),
  -- The last source read: deliveries first, then events.
  past_at timestamptz(3) not null default '-infinity',
  past_id text collate "C" not null default '',
  deliveries_done boolean not null default false,
  actor_type text not null,
  actor_id text not null,
  actor_name text,
  root_type text,
  root_id text,
  via text not null,
  trace_id text collate "C" not null,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  finished_at timestamptz(3),
  primary key (workspace_id, id),
  foreign key (workspace_id, endpoint_id) references posthorn.endpoints on delete cascade,
  check ((state = 'running') = (finished_at is null)),
  check (state <> 'done' or replayed + failed = matched)
);
create index replays_endpoint on posthorn.replays (workspace_id, endpoint_id, created_at desc, id desc);
create index replays_newest on posthorn.replays (workspace_id, created_at desc, id desc);
-- Without the workspace: workers look for the jobs of all workspaces.
create index replays_running on posthorn.replays (shard) where state = 'running';
create index replays_turns on posthorn.replays (workspace_id, id) where state = 'running';
create trigger replays_started after insert on posthorn.replays for each statement execute function posthorn.tell_workers();

create function posthorn.replay_choice(
  recovered_by text, under_way text, is_test boolean, include_recovered boolean, include_tests boolean
) returns text language sql immutable parallel safe
  return case when recovered_by is not null and not include_recovered then 'recovered' when under_way is not null then 'under_way'
    when is_test and not include_tests then 'test' else 'wanted' end;

-- Reads events of a time in their order, after `past`: finds those that an endpoint wants, and of which there is neither a delivery to
-- it nor a missed one, and with `with_missed` those that it missed. `moment`: only what was visible then; null: what is there now.
-- `made_up`: how many were sent since that moment. Bounds: `most` found, `most_read`, and `lasting`; `ended` says that none of them
-- stopped it. Not found are events that name endpoints, types that begin with one of `hidden`, and the news that this endpoint was
-- disabled.
create function posthorn.unsent_events(
  workspace text, endpoint text, event_types text[], hidden text[], filter_path jsonpath, filter_program jsonb,
  since timestamptz, until timestamptz, unsent_since timestamptz, with_missed boolean, moment pg_snapshot, past text, most integer,
  most_read integer, lasting interval,
  out unsent text[], out missed text[], out made_up integer, out past_id text, out ended boolean
) language plpgsql stable set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  one record;
  seen integer := 0;
  latest constant timestamptz := clock_timestamp() + lasting;
begin
  unsent := '{}';
  missed := '{}';
  made_up := 0;
  past_id := past;
  ended := true;
  for one in
    select e.id, e.payload, e.wanted, m.missed_by, made.id is null and again.id is null as unsent,
      not pg_visible_in_snapshot(again.unsent_by, moment) as sent_since
    from (
      select e.id, e.payload, e.created_at, e.endpoint_ids is null and e.purged_at is null
        and e.id >= posthorn.id_at('evt_', unsent_since)
        and posthorn.patterns_of(e.event_type) && unsent_events.event_types and not e.event_type ^@ any (hidden)
        and (e.event_type <> 'webhook.endpoint_disabled' or e.payload::json ->> 'endpointId' is distinct from endpoint)
        and posthorn.was_visible(e.xmin, moment) as wanted
      from posthorn.events e
      where e.workspace_id = workspace and e.id > past and e.id >= posthorn.id_at('evt_', since)
        and e.id < case when until is null then 'evt_g' else posthorn.id_at('evt_', until) end
      order by e.id limit most_read
    ) e
    left join lateral (
      select m.missed_by from posthorn.missed_events m
      where m.workspace_id = workspace and m.endpoint_id = endpoint and m.created_at = e.created_at and m.event_id = e.id
    ) m on true
    left join lateral (
      select d.id from posthorn.deliveries d
      where e.wanted and d.workspace_id = workspace and (d.endpoint_id, d.id) >= (endpoint, posthorn.deliveries_begin(e.id))
        and (d.endpoint_id, d.id) < (endpoint, posthorn.deliveries_begin(e.id) || 'g') and d.event_id = e.id
      order by d.endpoint_id, d.id limit 1
    ) made on true
    left join lateral (
      select d.id, d.unsent_by from posthorn.deliveries d
      where e.wanted and d.workspace_id = workspace and d.event_id = e.id and d.endpoint_id = endpoint
        and (d.replayed_from is not null or d.replay_id is not null)
      order by d.id limit 1
    ) again on true
  loop
    seen := seen + 1;
    past_id := one.id;
    if one.missed_by is not null then
      if with_missed and (moment is null or pg_visible_in_snapshot(one.missed_by, moment)) then missed := missed || past_id; end if;
    elsif one.wanted and (one.unsent or one.sent_since)
      and (filter_path is null or posthorn.lets_through(filter_path, filter_program, posthorn.judged(one.payload)))
    then
      if one.unsent then unsent := unsent || past_id; else made_up := made_up + 1; end if;
    end if;
    ended := cardinality(unsent) + cardinality(missed) < most and seen < most_read and clock_timestamp() < latest;
    exit when not ended;
  end loop;
end $$;

create function posthorn.count_replay(
  workspace text, endpoint text, wanted text[], since timestamptz, until timestamptz, include_missed boolean,
  include_recovered boolean, include_tests boolean, include_unsent boolean default false,
  unsent_since timestamptz default null, hidden text[] default '{}',
  out deliveries bigint, out missed bigint, out recovered bigint, out under_way bigint, out tests bigint, out unsent bigint
) language plpgsql stable set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  most_read constant integer := 100000;
  found record;
begin
  select count(*) filter (where c.kept = 'wanted'), count(*) filter (where c.kept = 'recovered'),
    count(*) filter (where c.kept = 'under_way'), count(*) filter (where c.kept = 'test')
  into deliveries, recovered, under_way, tests
  from (
    select posthorn.replay_choice(f.recovered_by, f.under_way, f.is_test, include_recovered, include_tests) as kept
    from posthorn.failed_deliveries f
    where f.workspace_id = workspace and f.endpoint_id = endpoint and f.status = any (wanted)
      and f.created_at >= since and f.created_at < coalesce(until, 'infinity')
  ) c;
  missed := 0;
  if include_missed then
    select count(*) into missed from posthorn.missed_events m
    where m.workspace_id = workspace and m.endpoint_id = endpoint
      and m.created_at >= since and m.created_at < coalesce(until, 'infinity');
  end if;
  unsent := 0;
  if include_unsent then
    select u.unsent, u.ended into found
    from posthorn.endpoints e cross join lateral posthorn.unsent_events(workspace, endpoint, e.event_types, hidden, e.filter_path,
      e.filter_program, unsent_since, until, unsent_since, false, null, '', 2147483647, most_read, '2 seconds') u
    where e.workspace_id = workspace and e.id = endpoint;
    if not found.ended then
      raise exception 'More events of this time would have to be read than %, or than 2 seconds allow: choose a later since or an earlier until, and start one job after the other', most_read
        using errcode = 'PH400', hint = '/since';
    end if;
    unsent := coalesce(cardinality(found.unsent), 0);
  end if;
end $$;

-- What an endpoint has lost: deliveries given up and neither recovered nor under way, without test sends, and missed events.
-- Reads the newest `most` of each: 8 ms for 1,000.
create function posthorn.losses(
  workspace text, endpoint text, most integer,
  out stopped integer, out stopped_since timestamptz, out newest_id text, out never_sent integer, out more_stopped boolean,
  out recovered integer, out missed integer, out missed_since timestamptz, out more_missed boolean
) language plpgsql stable set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
  with newest as materialized (
    select f.* from posthorn.failed_deliveries f
    where f.workspace_id = workspace and f.endpoint_id = endpoint
    order by f.created_at desc, f.delivery_id desc limit most
  ), lost as (
    select n.delivery_id, n.created_at, d.dead_letter_reason from newest n
    cross join lateral (
      select d.dead_letter_reason from posthorn.deliveries d
      where d.workspace_id = workspace and d.id = n.delivery_id offset 0
    ) d
    where n.status <> 'failed' and posthorn.replay_choice(n.recovered_by, n.under_way, n.is_test, false, false) = 'wanted'
  )
  select count(*), min(l.created_at), max(l.delivery_id), count(*) filter (where l.dead_letter_reason = 'never_sent'),
    (select count(*) = most from newest), (select count(*) from newest n where n.recovered_by is not null)
  into stopped, stopped_since, newest_id, never_sent, more_stopped, recovered from lost l;
  select count(*), min(m.created_at), count(*) = most into missed, missed_since, more_missed from (
    select m.created_at from posthorn.missed_events m where m.workspace_id = workspace and m.endpoint_id = endpoint
    order by m.created_at desc, m.event_id desc limit most
  ) m;
end $$;

-- Makes a pending delivery and an audit event for each source: a delivery, or (`sources` null) an event. Left out:
-- sources that are gone, purged, or in another state; a replay is of failed deliveries, a resend of ended ones. The caller has
-- ensured that the endpoint is enabled.
create function posthorn.replay(
  workspace text, endpoint text, sources text[], missed_events text[], job text,
  actor_type text, actor_id text, via text, trace text, root_type text default null, root_id text default null,
  actor_name text default null, resend boolean default false, unsent_events text[] default '{}'
) returns table (source text, event text, delivery text)
language plpgsql set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  moment timestamptz;
begin
  perform posthorn.notify_if_asleep(array[posthorn.shard_of(endpoint)]);
  moment := date_trunc('milliseconds', clock_timestamp());
  return query
  with found as materialized (
    select w.index, d.id as source_id, e.id as event_id, d.event_type, d.payload
    from unnest(sources) with ordinality as w(id, index)
    cross join lateral (
      select d.id, d.event_id, d.event_type, d.payload from posthorn.deliveries d
      where d.workspace_id = workspace and d.id = w.id and d.endpoint_id = endpoint
        and d.status not in ('pending', case when resend then 'failed' else 'delivered' end) offset 0
    ) d
    left join lateral (
      -- Locks the event against retention and purging: see remove_old_events and purge_event.
      select e.id from posthorn.events e
      where e.workspace_id = workspace and e.id = d.event_id and e.purged_at is null offset 0 for key share
    ) e on true
    where d.event_id is null or e.id is not null
    union all
    select w.index, null, e.id, e.event_type, null
    from unnest(missed_events) with ordinality as w(id, index)
    cross join lateral (
      select e.id, e.event_type from posthorn.events e
      where e.workspace_id = workspace and e.id = w.id and e.purged_at is null offset 0 for key share
    ) e
  ), made as materialized (
    select f.*, posthorn.new_id('whd_') as delivery_id from (select * from found order by index) f
  ), stored as (
    insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, payload, trace_id, replayed_from,
      replay_id, unsent_by, next_attempt_at, created_at)
    select workspace, delivery_id, endpoint, event_id, event_type, payload, trace, source_id, job,
      case when event_id = any (unsent_events) then pg_current_xact_id() end, moment, posthorn.made_at(delivery_id)
    from made order by index
  ), queued as (
    insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
    select workspace, delivery_id, endpoint, posthorn.shard_of(endpoint), moment from made order by index
  ), noted as (
    update posthorn.failed_deliveries f set under_way = m.delivery_id, made_up_by = pg_current_xact_id()
    from made m cross join lateral posthorn.made_up_for(workspace, endpoint, m.event_id, m.source_id, m.delivery_id) s
    where f.workspace_id = workspace and f.endpoint_id = endpoint and f.created_at = s.created_at and f.delivery_id = s.delivery_id
  ), audited as (
    insert into posthorn.audit_events
      (workspace_id, action, actor_type, actor_id, actor_name, root_type, root_id, via, target_type, target_id, changes, trace_id)
    select workspace, case when resend then 'webhook.delivery_resent' else 'webhook.delivery_replayed' end, actor_type, actor_id,
      actor_name, root_type, root_id, via, 'webhook_delivery', delivery_id,
      (case when source_id is null
         then json_build_object('fields', '[]'::json, 'replayedFrom', null, 'eventId', event_id)
         else json_build_object('fields', '[]'::json, 'replayedFrom', source_id) end), trace
    from made order by index
  )
  select m.source_id, m.event_id, m.delivery_id from made m order by m.index;
end $$;

-- How many index entries a step scans at most, even if few match.
create function posthorn.replay_scan_limit() returns integer language sql immutable parallel safe return 500;

-- Whether a running job waits for earlier ones of its workspace: three run at a time, without jobs of disabled endpoints.
-- Computed, so nothing is left behind when a worker ends.
create function posthorn.replay_is_queued(workspace text, replay text) returns boolean language sql stable
begin atomic
  select count(*) = 3 from (
    select from posthorn.replays r join posthorn.endpoints e on e.workspace_id = r.workspace_id and e.id = r.endpoint_id
    where r.workspace_id = workspace and r.id < replay and r.state = 'running' and e.enabled limit 3
  ) earlier;
end;

-- Makes up to `batch` replays of a job, as long as at most `room` deliveries of the endpoint wait. Returns `stepped` (call
-- again), `waiting` (disabled, or enough wait), `finished`, or `idle` (not running, or another worker's).
create function posthorn.replay_step(workspace text, replay text, batch integer, room integer, out outcome text, out made integer)
language plpgsql set search_path = pg_catalog, posthorn, pg_temp set lock_timeout = '500ms'
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  job posthorn.replays;
  room_left integer;
  made_up integer := 0;
  sources text[] := '{}';
  missed text[] := '{}';
  unsent text[] := '{}';
  scanned integer;
  last record;
begin
  made := 0;
  select * into job from posthorn.replays r
    where r.workspace_id = workspace and r.id = replay and r.state = 'running' for update skip locked;
  if not found then outcome := 'idle'; return; end if;
  perform from posthorn.endpoints e
    where e.workspace_id = workspace and e.id = job.endpoint_id and e.enabled for share;
  if not found then outcome := 'waiting'; return; end if;
  select least(batch, room - count(*)) into room_left from (
    select from posthorn.queue q where q.workspace_id = workspace and q.endpoint_id = job.endpoint_id limit room
  ) q;
  if room_left <= 0 then outcome := 'waiting'; return; end if;

  if not job.deliveries_done then
    with candidates as materialized (
      select f.created_at, f.delivery_id,
        case when pg_visible_in_snapshot(f.ended_by, job.snapshot) then f.status = any (job.statuses)
             else 'failed' = any (job.statuses) and pg_visible_in_snapshot(f.failed_by, job.snapshot) end as covered,
        posthorn.replay_choice(f.recovered_by, f.under_way, f.is_test, job.include_recovered, job.include_tests) = 'wanted' as wanted,
        pg_visible_in_snapshot(f.made_up_by, job.snapshot) is not false as unchanged
      from posthorn.failed_deliveries f
      where f.workspace_id = workspace and f.endpoint_id = job.endpoint_id
        and (f.created_at, f.delivery_id) > (job.past_at, job.past_id)
        and f.created_at >= job.since and f.created_at < coalesce(job.until, 'infinity')
      order by f.created_at, f.delivery_id limit posthorn.replay_scan_limit()
    ), judged as (
      select c.*, c.covered and c.wanted and c.unchanged as matches from candidates c
    ), numbered as (
      select j.*, count(*) filter (where matches) over (order by created_at, delivery_id) as hits from judged j
    ), reached as (
      select * from numbered where hits <= room_left
    )
    select coalesce(array_agg(delivery_id order by created_at, delivery_id) filter (where matches), '{}'), count(*),
      count(*) filter (where covered and not wanted and not unchanged) as made_up,
      (array_agg(created_at order by created_at desc, delivery_id desc))[1] as at,
      (array_agg(delivery_id order by created_at desc, delivery_id desc))[1] as id,
      (select count(*) from candidates) as seen
    into last from reached;
    sources := last.coalesce;
    made_up := last.made_up;
    if last.at is not null then
      job.past_at := last.at;
      job.past_id := last.id;
    end if;
    if last.count = last.seen and last.seen < posthorn.replay_scan_limit() then
      job.deliveries_done := true;
      job.past_at := '-infinity';
      job.past_id := '';
    end if;
  elsif job.include_unsent then
    select * into last from posthorn.unsent_events(workspace, job.endpoint_id, job.event_types, job.hidden, job.filter_path,
      job.filter_program, job.since, job.until, job.unsent_since, job.include_missed, job.snapshot, job.past_id, room_left, posthorn.replay_scan_limit(),
      '50 milliseconds');
    with taken as (
      delete from posthorn.missed_events m
      where m.workspace_id = workspace and m.endpoint_id = job.endpoint_id and m.event_id = any (last.missed)
      returning m.event_id
    )
    select coalesce(array_agg(e.id order by e.id), '{}') into missed
    from (select event_id as id from taken union all select unnest(last.unsent)) e;
    unsent := last.unsent;
    made_up := last.made_up;
    job.past_id := last.past_id;
    if last.ended then
      job.include_unsent := false;
      job.include_missed := false;
    end if;
  elsif job.include_missed then
    with candidates as materialized (
      select m.created_at, m.event_id, pg_visible_in_snapshot(m.missed_by, job.snapshot) as matches
      from posthorn.missed_events m
      where m.workspace_id = workspace and m.endpoint_id = job.endpoint_id
        and (m.created_at, m.event_id) > (job.past_at, job.past_id)
        and m.created_at >= job.since and m.created_at < coalesce(job.until, 'infinity')
      order by m.created_at, m.event_id limit room_left
    ), taken as (
      -- Two jobs over the same missed events wait here, and the second finds nothing.
      delete from posthorn.missed_events m using candidates l
      where l.matches and m.workspace_id = workspace and m.endpoint_id = job.endpoint_id and m.created_at = l.created_at
        and m.event_id = l.event_id
      returning m.event_id
    )
    select coalesce((select array_agg(event_id order by event_id) from taken), '{}'), count(*),
      (array_agg(created_at order by created_at desc, event_id desc))[1] as at,
      (array_agg(event_id order by created_at desc, event_id desc))[1] as id
    into last from candidates;
    missed := last.coalesce;
    scanned := last.count;
    if scanned < room_left then
      job.include_missed := false;
    else
      job.past_at := last.at;
      job.past_id := last.id;
    end if;
  end if;

  if cardinality(sources) + cardinality(missed) > 0 then
    select count(*) into made from posthorn.replay(workspace, job.endpoint_id, sources, missed, job.id,
      job.actor_type, job.actor_id, job.via, job.trace_id, job.root_type, job.root_id, job.actor_name,
      unsent_events => unsent);
  end if;
  if job.deliveries_done and not job.include_missed and not job.include_unsent then
    outcome := 'finished';
    update posthorn.replays r
    set state = 'done', replayed = least(r.matched, r.replayed + made + made_up),
        failed = greatest(0, r.matched - r.replayed - made - made_up), past_at = job.past_at,
        past_id = job.past_id, deliveries_done = true, finished_at = date_trunc('milliseconds', clock_timestamp())
    where r.workspace_id = workspace and r.id = replay;
  else
    outcome := 'stepped';
    update posthorn.replays r
    set replayed = least(r.matched, r.replayed + made + made_up), past_at = job.past_at, past_id = job.past_id, deliveries_done = job.deliveries_done
    where r.workspace_id = workspace and r.id = replay;
  end if;
end $$;
