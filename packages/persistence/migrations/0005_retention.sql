-- The daily run that removes old history, in short statements that are repeated until one finds less than its limit.

create table posthorn.daily_runs (
  job text collate "C" not null,
  day date not null,
  started_at timestamptz(3) not null default clock_timestamp(),
  finished_at timestamptz(3),
  primary key (job, day)
);

-- Whether the caller runs this job today. A run that lasts longer than 15 minutes counts as dead.
create function posthorn.begin_daily_run(wanted_job text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into posthorn.daily_runs as r (job, day) values (wanted_job, (now() at time zone 'UTC')::date)
    on conflict (job, day) do update set started_at = clock_timestamp()
    where r.finished_at is null and r.started_at < now() - interval '15 minutes';
  return found;
end $$;

create function posthorn.end_daily_run(done_job text) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.daily_runs set finished_at = clock_timestamp() where job = done_job and finished_at is null;
  delete from posthorn.daily_runs where job = done_job and day < (now() at time zone 'UTC')::date - 30
$$;

-- The smallest id of this moment, which is clamped to 1970 and 2112, the range of an id's digits.
create function posthorn.id_at(prefix text, moment timestamptz) returns text language sql stable parallel safe
  return prefix || lpad(to_hex(least(greatest(posthorn.micros(moment), 0), 4503599627370495)), 13, '0');

-- Workspaces whose oldest row of some kind is older than the limits: one index step for each kind. With `exists`, PostgreSQL 15
-- would read all rows.
create function posthorn.workspaces_to_tidy(kept interval, keys_kept interval) returns setof text
language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  select w.id from posthorn.workspaces w
  where (select d.id from posthorn.deliveries d where d.workspace_id = w.id order by d.id limit 1) < posthorn.id_at('whd_', now() - kept)
    or (select e.id from posthorn.events e where e.workspace_id = w.id order by e.id limit 1) < posthorn.id_at('evt_', now() - kept)
    or (select k.created_at from posthorn.idempotency_keys k where k.workspace_id = w.id order by k.created_at limit 1) < now() - keys_kept
    or (select a.created_at from posthorn.idempotent_answers a where a.workspace_id = w.id order by a.created_at limit 1)
      < now() - keys_kept
$$;

-- Removes up to `most` old deliveries past a position, unless they are in the queue or the dead-letter queue. Returns how many,
-- and the next position.
create function posthorn.remove_old_deliveries(
  workspace text, kept interval, most integer, inout past_id text, out removed integer
)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with old as materialized (
    select d.id from posthorn.deliveries d
    where d.workspace_id = workspace and d.id > past_id and d.id < posthorn.id_at('whd_', now() - kept)
      and not exists (select from posthorn.queue q where q.workspace_id = d.workspace_id and q.delivery_id = d.id)
      and not exists (select from posthorn.dead_letters l where l.workspace_id = d.workspace_id and l.delivery_id = d.id)
    order by d.id limit most
  ), gone as (
    delete from posthorn.deliveries d using old where d.workspace_id = workspace and d.id = old.id returning 1
  )
  select coalesce(max(old.id), past_id), (select count(*)::integer from gone) from old
$$;

-- Removes up to `most` deliveries that wait at the next endpoint that has been disabled for as long as history is kept, and counts
-- them there. Returns 0 as `scanned` after the last endpoint. Skips an endpoint that is being changed: it may be enabled. Locks:
-- the endpoint, then deliveries, as `record`.
create function posthorn.remove_waiting(
  workspace text, kept interval, most integer, inout past_id text, out scanned integer, out removed integer
)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  unused text;
begin
  select e.id into unused from posthorn.endpoints e
  where e.workspace_id = workspace and e.id > past_id and not e.enabled and e.disabled_at < now() - kept
    and exists (select from posthorn.queue q where q.workspace_id = e.workspace_id and q.endpoint_id = e.id)
  order by e.id limit 1 for no key update skip locked;
  scanned := case when unused is null then 0 else most end;
  delete from posthorn.deliveries d where d.workspace_id = workspace and d.id = any (array(
    select q.delivery_id from posthorn.queue q where q.workspace_id = workspace and q.endpoint_id = unused
    order by q.due_at, q.delivery_id limit most
  ));
  get diagnostics removed = row_count;
  update posthorn.endpoints e set expired = e.expired + removed where e.workspace_id = workspace and e.id = unused;
  if removed < most then past_id := coalesce(unused, past_id); end if;
end $$;

-- Removes, past the given event, up to `most` old events to which no delivery refers. Returns how many it read, and where it ended.
-- Locks the events first, as replays do, so that the second statement sees all replays.
create function posthorn.remove_old_events(
  workspace text, kept interval, most integer, inout past_id text, out scanned integer, out removed integer
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  old text[];
  free text[];
begin
  old := array(
    select e.id from posthorn.events e
    where e.workspace_id = workspace and e.id > past_id and e.id < posthorn.id_at('evt_', now() - kept)
    order by e.id limit most
  );
  scanned := cardinality(old);
  past_id := coalesce(old[scanned], past_id);
  free := array(
    select e.id from posthorn.events e
    where e.workspace_id = workspace and e.id = any (old) and not exists (
      select from posthorn.deliveries_of_event(workspace, e.id))
    for update skip locked
  );
  delete from posthorn.events e
  where e.workspace_id = workspace and e.id = any (free) and not exists (
    select from posthorn.deliveries_of_event(workspace, e.id));
  get diagnostics removed = row_count;
end $$;

create function posthorn.remove_old_keys(workspace text, kept interval, most integer) returns integer
language sql set search_path = pg_catalog, pg_temp as $$
  with gone as (
    delete from posthorn.idempotency_keys k using (
      select key from posthorn.idempotency_keys
      where workspace_id = workspace and created_at < now() - kept order by created_at limit most
    ) old where k.workspace_id = workspace and k.key = old.key returning 1
  )
  select count(*)::integer from gone
$$;

create function posthorn.remove_old_answers(workspace text, kept interval, most integer) returns integer
language sql set search_path = pg_catalog, pg_temp as $$
  with gone as (
    delete from posthorn.idempotent_answers a using (
      select ctid as tid, key from posthorn.idempotent_answers
      where (workspace_id = workspace or (workspace is null and workspace_id is null)) and created_at < now() - kept
      order by created_at limit most
    ) old where a.ctid = old.tid and a.key is not distinct from old.key returning 1
  )
  select count(*)::integer from gone
$$;

create function posthorn.erase_sealed_answers(kept interval) returns integer
language sql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
  with erased as (
    update posthorn.idempotent_answers set sealed = null
    where sealed is not null and created_at < now() - kept returning 1
  )
  select count(*)::integer from erased
$$;
