-- Sums of finished hours, by endpoint and for a workspace's endpoints together, made by a worker minutes after the hour.
--
-- Answers are exact. An hour is counted once no transaction can add deliveries to it, an endpoint once all its deliveries of
-- the hour are over. Removed deliveries are noted with their outcomes and subtracted.

create table posthorn.hourly_rollups (
  workspace_id text collate "C" not null,
  hour timestamptz(3) not null,
  -- Empty: all endpoints but those in `open`.
  endpoint_id text collate "C" not null,
  delivered integer not null,
  failed_permanent integer not null,
  dead_lettered integer not null,
  -- Distinct durations of last attempts, ascending, and deliveries with each.
  durations integer[] not null,
  times integer[] not null,
  open text[] not null,
  counted_at timestamptz(3) not null,
  primary key (workspace_id, endpoint_id, hour)
);
create index hourly_rollups_hour on posthorn.hourly_rollups (hour);
create index hourly_rollups_open on posthorn.hourly_rollups (workspace_id, hour) where open <> '{}';

-- Deliveries removed from counted hours. Until they are subtracted, the numbers of their endpoints and of the workspace are read
-- row by row.
create table posthorn.stale_hours (
  workspace_id text collate "C" not null,
  hour timestamptz(3) not null,
  endpoint_id text collate "C" not null,
  delivered integer not null,
  failed_permanent integer not null,
  dead_lettered integer not null,
  durations integer[] not null,
  times integer[] not null
);
create index stale_hours_of on posthorn.stale_hours (workspace_id, hour, endpoint_id);
create index stale_hours_hour on posthorn.stale_hours (hour);

-- Finished hours, each with a transaction that began after its end.
create table posthorn.ended_hours (
  hour timestamptz(3) primary key,
  seen_by xid8 not null
);

-- Advisory locks of this class, one for each workspace, protect counting.
create function posthorn.rollup_class() returns integer language sql immutable parallel safe
  return 7067004;

-- The newest hour to which no transaction can add; null if none is known. The extra minute covers transactions without an id
-- and small steps of the clock. A transaction id in the future was stored on another server.
create function posthorn.hours_over() returns timestamptz language plpgsql
set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  ended constant timestamptz := date_trunc('hour', now() - interval '1 minute', 'UTC') - interval '1 hour';
  over timestamptz;
begin
  delete from posthorn.ended_hours where seen_by > pg_current_xact_id() or hour > ended;
  insert into posthorn.ended_hours values (ended, pg_current_xact_id()) on conflict do nothing;
  select max(e.hour) into over from posthorn.ended_hours e where e.seen_by <= pg_snapshot_xmin(pg_current_snapshot());
  delete from posthorn.ended_hours where hour < over;
  -- The clock was set back: these hours are not over.
  delete from posthorn.hourly_rollups where hour > ended;
  return over;
end $$;

-- Hours to count now: the oldest uncounted hour of each workspace, then hours with removals, and every ten minutes some of the
-- hours that were open. Hours older than 30 days are not shown.
create function posthorn.hours_to_roll_up(over timestamptz) returns table (workspace_id text, hour timestamptz)
language sql stable set search_path = pg_catalog, posthorn, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  select w.id, date_trunc('hour', next.created_at, 'UTC')
  from posthorn.workspaces w
  cross join lateral (
    select greatest((select c.hour + interval '1 hour' from posthorn.hourly_rollups c where c.workspace_id = w.id
      and c.endpoint_id = '' order by c.hour desc limit 1), now() - interval '31 days') as at
  ) since
  cross join lateral (
    select d.created_at from posthorn.deliveries d where d.workspace_id = w.id and d.id >= posthorn.id_at('whd_', since.at)
    order by d.id limit 1
  ) next
  where next.created_at < over + interval '1 hour'
  union
  (select s.workspace_id, s.hour from posthorn.stale_hours s
   where exists (select from posthorn.hourly_rollups c where c.workspace_id = s.workspace_id and c.endpoint_id = '' and c.hour = s.hour)
   limit 100)
  union
  (select c.workspace_id, c.hour from posthorn.hourly_rollups c
   where c.open <> '{}' and c.counted_at < now() - interval '10 minutes' limit 100)
$$;

-- Deliveries of time ranges by endpoint, status and duration. Ordered like their index, so that no plan reads the whole history.
create function posthorn.deliveries_of(workspace text, since timestamptz[], lasting interval, endpoints text[])
returns table (hour timestamptz, endpoint_id text, status posthorn.delivery_status, ms integer, n integer) language plpgsql stable
set search_path = pg_catalog, posthorn, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  if endpoints is null then
    return query select h.hour, d.endpoint_id, d.status, d.last_duration_ms, count(*)::integer from unnest(since) as h(hour)
    cross join lateral (
      select d.endpoint_id, d.status, d.last_duration_ms from posthorn.deliveries d
      where d.workspace_id = workspace and d.id >= posthorn.id_at('whd_', h.hour)
        and d.id < posthorn.id_at('whd_', h.hour + lasting)
      order by d.id offset 0
    ) d group by 1, 2, 3, 4;
  else
    return query select h.hour, h.id, d.status, d.last_duration_ms, count(*)::integer from unnest(since, endpoints) as h(hour, id)
    cross join lateral (
      select d.status, d.last_duration_ms from posthorn.deliveries d
      where d.workspace_id = workspace and d.endpoint_id = h.id and d.id >= posthorn.id_at('whd_', h.hour)
        and d.id < posthorn.id_at('whd_', h.hour + lasting)
      order by d.id offset 0
    ) d group by 1, 2, 3, 4;
  end if;
end $$;

-- Counts a finished hour, or its endpoints that were open, and subtracts removals. False if somebody is counting or removing in
-- the workspace. Endpoints with few deliveries or with removals get no row. One statement reads deliveries and consumes notes,
-- so both come from one snapshot.
create function posthorn.roll_up_hour(workspace text, wanted timestamptz) returns boolean language plpgsql
set search_path = pg_catalog, posthorn, pg_temp as $$
#variable_conflict use_column
declare
  before posthorn.hourly_rollups;
  present text;
begin
  if not pg_try_advisory_xact_lock(posthorn.rollup_class(), hashtext(workspace)) then return false; end if;
  select * into before from posthorn.hourly_rollups
  where workspace_id = workspace and hour = wanted and endpoint_id = '';
  with removed as materialized (
    delete from posthorn.stale_hours where workspace_id = workspace and hour = wanted
    returning endpoint_id, delivered, failed_permanent, dead_lettered, durations, times
  ), forgotten as (
    delete from posthorn.hourly_rollups
    where workspace_id = workspace and hour = wanted and endpoint_id in (select endpoint_id from removed)
  ), taken as materialized (
    select * from removed where endpoint_id <> all (before.open)
  ), seen as materialized (
    select * from posthorn.deliveries_of(workspace,
      case when before.open is null then array[wanted] else array_fill(wanted, array[cardinality(before.open)]) end,
      interval '1 hour', before.open)
  ), ended as materialized (
    select endpoint_id, sum(n) as deliveries, coalesce(sum(n) filter (where status = 'delivered'), 0) as delivered,
      coalesce(sum(n) filter (where status = 'failed_permanent'), 0) as failed_permanent,
      coalesce(sum(n) filter (where status = 'dead_lettered'), 0) as dead_lettered
    from seen group by endpoint_id having bool_and(status in ('delivered', 'failed_permanent', 'dead_lettered'))
  ), by_ms as materialized (
    select endpoint_id, ms, sum(n) as n from seen join ended using (endpoint_id) where ms is not null group by 1, 2
  ), lists as (
    select endpoint_id, array_agg(ms order by ms) as durations, array_agg(n order by ms) as times from (
      select endpoint_id, ms, n from by_ms
      union all
      select '', ms, sum(n) from (
        select ms, n from by_ms
        union all
        select * from unnest(before.durations, before.times)
        union all
        select gone.ms, -gone.n from taken cross join unnest(taken.durations, taken.times) as gone(ms, n)
      ) as all_of group by ms having sum(n) > 0
    ) as one group by endpoint_id
  ), sums as (
    select endpoint_id, delivered, failed_permanent, dead_lettered, '{}'::text[] as open from ended where deliveries > 20
    union all
    select '', coalesce(sum(delivered), 0) + coalesce(before.delivered, 0),
      coalesce(sum(failed_permanent), 0) + coalesce(before.failed_permanent, 0),
      coalesce(sum(dead_lettered), 0) + coalesce(before.dead_lettered, 0),
      array(select endpoint_id from seen except select endpoint_id from ended order by 1)
    from (
      select delivered, failed_permanent, dead_lettered from ended
      union all
      select -delivered, -failed_permanent, -dead_lettered from taken
    ) as all_of
  )
  insert into posthorn.hourly_rollups as c
    (workspace_id, hour, endpoint_id, delivered, failed_permanent, dead_lettered, durations, times, open, counted_at)
  select workspace, wanted, endpoint_id, delivered, failed_permanent, dead_lettered, coalesce(durations, '{}'),
    coalesce(times, '{}'), open, clock_timestamp()
  from sums left join lists using (endpoint_id)
  on conflict (workspace_id, endpoint_id, hour) do update
    set delivered = excluded.delivered, failed_permanent = excluded.failed_permanent, dead_lettered = excluded.dead_lettered,
        durations = excluded.durations, times = excluded.times, open = excluded.open, counted_at = excluded.counted_at;
  -- Deleting the workspace now waits for this transaction, then deletes these rows.
  select id into strict present from posthorn.workspaces where id = workspace for key share skip locked;
  return true;
exception when no_data_found then return false;
end $$;

-- Waits for nobody: a removal holds locks that others need. While somebody is counting, a removal leaves notes for all its hours.
-- Otherwise its lock keeps others from counting until the removal commits, so uncounted hours need no notes.
create function posthorn.stale_rollups() returns trigger language plpgsql
set search_path = pg_catalog, posthorn, pg_temp as $$
#variable_conflict use_column
declare
  calm text[];
begin
  select coalesce(array_agg(w.workspace_id), '{}') into calm from (select distinct workspace_id from removed) as w
  where current_setting('transaction_isolation') = 'read committed'
    and pg_try_advisory_xact_lock_shared(posthorn.rollup_class(), hashtext(w.workspace_id));
  insert into posthorn.stale_hours
    (workspace_id, hour, endpoint_id, delivered, failed_permanent, dead_lettered, durations, times)
  with seen as materialized (
    select workspace_id, date_trunc('hour', created_at, 'UTC') as hour, endpoint_id, status, last_duration_ms as ms,
      count(*)::integer as n
    from removed group by 1, 2, 3, 4, 5
  )
  select s.workspace_id, s.hour, s.endpoint_id, coalesce(sum(n) filter (where status = 'delivered'), 0),
    coalesce(sum(n) filter (where status = 'failed_permanent'), 0), coalesce(sum(n) filter (where status = 'dead_lettered'), 0),
    coalesce(array_agg(ms) filter (where ms is not null), '{}'), coalesce(array_agg(n) filter (where ms is not null), '{}')
  from seen s
  where exists (select from posthorn.workspaces w where w.id = s.workspace_id)
    and (s.workspace_id <> all (calm) or exists (select from posthorn.hourly_rollups c
      where c.workspace_id = s.workspace_id and c.endpoint_id = '' and c.hour = s.hour))
  group by 1, 2, 3;
  return null;
end $$;

create trigger rollups_become_stale after delete on posthorn.deliveries
  referencing old table as removed for each statement execute function posthorn.stale_rollups();

-- No foreign keys: counting and deleting the workspace would wait for each other.
create function posthorn.remove_rollups() returns trigger language plpgsql
set search_path = pg_catalog, posthorn, pg_temp as $$
begin
  delete from posthorn.hourly_rollups c using removed r where c.workspace_id = r.id;
  delete from posthorn.stale_hours s using removed r where s.workspace_id = r.id;
  return null;
end $$;

create trigger rollups_follow after delete on posthorn.workspaces
  referencing old table as removed for each statement execute function posthorn.remove_rollups();

create function posthorn.remove_old_rollups() returns void language sql set search_path = pg_catalog, posthorn, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
  delete from posthorn.hourly_rollups where hour < now() - interval '32 days';
  delete from posthorn.stale_hours where hour < now() - interval '32 days'
$$;

-- The last `many` hours up to a moment, oldest first, then their sum (hour null): of endpoints together, or (null) of the workspace.
-- Reads deliveries only of endpoints that were open at the count. Within the query the sum has the hour `infinity`,
-- so that all joins are by equality.
create function posthorn.statistics_by_hour(workspace text, endpoints text[], many integer, moment timestamptz)
returns table (hour timestamptz, pending integer, delivered integer, failed integer, failed_permanent integer,
  dead_lettered integer, p50_ms integer, p95_ms integer) language plpgsql stable
set search_path = pg_catalog, posthorn, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  return query
  with hours as materialized (
    select date_trunc('hour', moment, 'UTC') - back * interval '1 hour' as hour from generate_series(0, many - 1) as back
  ), kept as materialized (
    select c.hour, c.endpoint_id, c.delivered, c.failed_permanent, c.dead_lettered, c.durations, c.times, c.open
    from posthorn.hourly_rollups c
    where c.workspace_id = workspace and c.endpoint_id = any (coalesce(endpoints, '{""}'))
      and c.hour > date_trunc('hour', moment, 'UTC') - many * interval '1 hour'
      and not exists (select from posthorn.stale_hours s
        where s.workspace_id = workspace and s.hour = c.hour and (endpoints is null or s.endpoint_id = c.endpoint_id))
  ), unkept as materialized (
    select array_agg(hour) as hours, array_agg(id) as ids from (
      select hour, id from hours cross join unnest(coalesce(endpoints, '{""}')) as id except select hour, endpoint_id from kept
    ) as one
  ), opened as materialized (
    select array_agg(k.hour) as hours, array_agg(o.id) as ids from kept k cross join unnest(k.open) as o(id)
  ), seen as materialized (
    select d.hour, d.status, d.ms, d.n from unkept u
    cross join lateral posthorn.deliveries_of(workspace, u.hours, interval '1 hour', case when endpoints is not null then u.ids end) d
    union all
    select d.hour, d.status, d.ms, d.n from opened o
    cross join lateral posthorn.deliveries_of(workspace, o.hours, interval '1 hour', o.ids) d
    union all
    select k.hour, null, t.ms, t.n from kept k cross join unnest(k.durations, k.times) as t(ms, n)
  ), sums as (
    select coalesce(hour, 'infinity') as hour, sum(n) filter (where status = 'pending') as pending,
      coalesce(sum(n) filter (where status = 'delivered'), 0) + coalesce(sum(delivered), 0) as delivered,
      sum(n) filter (where status = 'failed') as failed,
      coalesce(sum(n) filter (where status = 'failed_permanent'), 0) + coalesce(sum(failed_permanent), 0) as failed_permanent,
      coalesce(sum(n) filter (where status = 'dead_lettered'), 0) + coalesce(sum(dead_lettered), 0) as dead_lettered
    from (
      select hour, status, n, null::integer as delivered, null::integer as failed_permanent, null::integer as dead_lettered from seen
      union all
      select hour, null, null, delivered, failed_permanent, dead_lettered from kept
    ) as one group by grouping sets ((hour), ())
  ), ranked as (
    select hour, ms, sum(n) over (partition by hour order by ms) as up_to, sum(n) over (partition by hour) as all_of
    from (
      select coalesce(hour, 'infinity') as hour, ms, sum(n) as n from seen where ms is not null
      group by grouping sets ((hour, ms), (ms))
    ) as one
  ), percentiles as (
    select hour, min(ms) filter (where up_to >= ceil(0.5::float8 * all_of)) as p50,
      min(ms) filter (where up_to >= ceil(0.95::float8 * all_of)) as p95
    from ranked group by hour
  )
  select nullif(hour, 'infinity'), coalesce(pending, 0)::integer, coalesce(delivered, 0)::integer, coalesce(failed, 0)::integer,
    coalesce(failed_permanent, 0)::integer, coalesce(dead_lettered, 0)::integer, p50, p95
  from (select hour from hours union all select 'infinity') as h
  left join sums using (hour) left join percentiles using (hour)
  order by hour nulls last;
end $$;
