-- The event catalogue: what the operator says of event types, for all workspaces, and how often payloads did not fit.

create table posthorn.event_types (
  event_type text collate "C" primary key check (length(event_type) <= 128 and event_type ~ '^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$'),
  description text check (length(description) <= 2000),
  "group" text check (length("group") between 1 and 100),
  -- The text that was sent: jsonb would reorder members and respell numbers.
  schema text,
  examples text[] not null default '{}',
  validation text not null default 'off' check (validation in ('off', 'report', 'refuse')),
  deprecated boolean not null default false,
  replaced_by text collate "C",
  hidden boolean not null default false,
  -- The catalogue's version when this type was last put.
  version bigint not null,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
);

-- Whoever writes to the catalogue holds this row, so `version` tells whether anything was changed.
create table posthorn.catalogue (
  only_row boolean primary key default true check (only_row),
  version bigint not null default 0
);
insert into posthorn.catalogue default values;

-- Payloads that did not fit their type's schema, by day in UTC.
create table posthorn.deviations (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  event_type text collate "C" not null,
  day date not null,
  count bigint not null,
  since timestamptz(3) not null,
  last_event_id text collate "C" not null,
  -- The hours of the day, as bits, that an operational event told of.
  told_hours integer not null default 0,
  primary key (workspace_id, event_type, day)
);
-- Without the workspace: the operator sees those of all workspaces.
create index deviations_of_type on posthorn.deviations (event_type, day);
create index deviations_day on posthorn.deviations (day);

-- Counts events whose payloads did not fit, and tells of the first of a type in each hour (0013_operations.sql). Leaves out workspaces
-- that are gone. Locks: workspaces, then deviations, each in order.
create function posthorn.add_deviations(workspaces text[], event_types text[], event_ids text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  happenings posthorn.happening[];
begin
  perform from posthorn.workspaces w where w.id = any (workspaces) order by w.id for key share;
  insert into posthorn.deviations as d (workspace_id, event_type, day, count, since, last_event_id)
  select w.id, g.event_type, (posthorn.made_at(g.event_id) at time zone 'UTC')::date, count(*), min(posthorn.made_at(g.event_id)),
    max(g.event_id collate "C")
  from unnest(workspaces, event_types, event_ids) as g(workspace_id, event_type, event_id)
  join posthorn.workspaces w on w.id = g.workspace_id
  group by 1, 2, 3 order by 1, 2, 3
  on conflict (workspace_id, event_type, day) do update set count = d.count + excluded.count,
    since = least(d.since, excluded.since), last_event_id = greatest(d.last_event_id, excluded.last_event_id);
  if posthorn.system_workspace() is null then return; end if;
  -- In a statement of its own, which sees the rows that the insert has locked.
  with fresh as materialized (
    select g.workspace_id, g.event_type, t.day, t.hour, min(g.event_id collate "C") as event_id
    from unnest(workspaces, event_types, event_ids) as g(workspace_id, event_type, event_id)
    cross join lateral (select posthorn.made_at(g.event_id) at time zone 'UTC' as at) m
    cross join lateral (select m.at::date as day, date_part('hour', m.at)::integer as hour) t
    join posthorn.deviations d on d.workspace_id = g.workspace_id and d.event_type = g.event_type and d.day = t.day
    where d.told_hours & (1 << t.hour) = 0
    group by 1, 2, 3, 4
  ), told as (
    update posthorn.deviations d set told_hours = d.told_hours | f.hours
    from (select workspace_id, event_type, day, bit_or(1 << hour) as hours from fresh group by 1, 2, 3) f
    where d.workspace_id = f.workspace_id and d.event_type = f.event_type and d.day = f.day
  )
  select array_agg(row(f.workspace_id, 'payload.deviated', jsonb_build_object('eventId', f.event_id, 'eventType', f.event_type),
    null)::posthorn.happening order by f.event_id) into happenings
  from fresh f;
  perform posthorn.happened(coalesce(happenings, '{}'));
end $$;

-- How far the events of a workspace that came from SQL are judged.
create table posthorn.judged_events (
  workspace_id text collate "C" primary key references posthorn.workspaces on delete cascade,
  up_to text collate "C" not null
);

-- Workspaces past an id with events up to the horizon that are not judged. Without a position they begin at `since`. One index step
-- for each workspace.
create function posthorn.workspaces_to_judge(
  past_id text, since text, horizon text, most integer, out workspace_id text, out past text, out stored text
) returns setof record language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
  select w.id, p.past, j.up_to from posthorn.workspaces w
  left join posthorn.judged_events j on j.workspace_id = w.id
  cross join lateral (select greatest(j.up_to, since) as past) p
  where w.id > past_id and exists (
    select from posthorn.events e where e.workspace_id = w.id and e.id > p.past and e.id <= horizon
  )
  order by w.id limit most
$$;

-- The next events of a workspace in the order of their ids, at most `most`, and at most `most_bytes` of payloads. Only events that
-- are to be judged have a payload: those from SQL with a type in `types`, from its id in `sinces` on.
create function posthorn.events_to_judge(
  workspace text, past text, horizon text, types text[], sinces text[], most integer, most_bytes integer,
  out id text, out event_type text, out payload text
) returns setof record language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
  select r.id, r.event_type, r.payload from (
    select e.id, e.event_type, case when w.wanted then e.payload end as payload,
      sum(case when w.wanted then octet_length(e.payload) else 0 end) over (order by e.id) - case when w.wanted
        then octet_length(e.payload) else 0 end as before
    from (
      select e.id, e.event_type, e.payload, e.actor, e.purged_at from posthorn.events e
      where e.workspace_id = workspace and e.id > past and e.id <= horizon order by e.id limit most
    ) e
    left join unnest(types, sinces) as t(type, since) on t.type = e.event_type
    cross join lateral (
      select t.type is not null and e.id >= t.since and split_part(e.actor, ' ', 2) = 'sql' and e.purged_at is null as wanted
    ) w
  ) r where r.before < most_bytes order by r.id
$$;

-- False, and nothing done, if another worker has moved the position since it was read (null: there was none).
create function posthorn.move_judged(workspace text, before text, now_at text, types text[], event_ids text[]) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into posthorn.judged_events as j (workspace_id, up_to)
  select w.id, now_at from posthorn.workspaces w where w.id = workspace for key share
  on conflict (workspace_id) do update set up_to = excluded.up_to
    where j.up_to = before;
  if not found then return false; end if;
  perform posthorn.add_deviations(array_fill(workspace, array[cardinality(types)]), types, event_ids);
  return true;
end $$;

create function posthorn.remove_old_deviations(most integer) returns integer language sql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
  with gone as (
    delete from posthorn.deviations d using (
      select ctid as tid, day from posthorn.deviations where day <= (now() at time zone 'UTC')::date - 30 order by day limit most
    ) old where d.ctid = old.tid and d.day = old.day returning 1
  )
  select count(*)::integer from gone
$$;

-- Deviations of the last 30 days, in a workspace or (null) in all.
create function posthorn.deviations_of(
  wanted text, workspace text, out count bigint, out since timestamptz, out last_event_id text
) language sql stable
begin atomic
  select coalesce(sum(d.count), 0)::bigint, min(d.since), max(d.last_event_id) from posthorn.deviations d
  where d.event_type = wanted and d.day > (now() at time zone 'UTC')::date - 30
    and (workspace is null or d.workspace_id = workspace);
end;

-- The newest events of a type in all workspaces, at most `most`, and at most `most_bytes` of payloads. Costs an index step for each
-- workspace; then `most` events are read of each of the `most` workspaces whose newest event is newest.
create function posthorn.newest_of_type(
  wanted text, most integer, most_bytes integer, out id text, out workspace text, out payload text
) returns setof record language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  select r.id, r.slug, r.payload from (
    select e.id, w.slug, e.payload, sum(octet_length(e.payload)) over (order by e.id desc) - octet_length(e.payload) as before
    from (
      select n.workspace_id, n.id from (
        select w.id as workspace_id, newest.id from posthorn.workspaces w cross join lateral (
          select e.id from posthorn.events e where e.workspace_id = w.id and e.event_type = wanted
          order by e.event_type, e.id desc limit 1
        ) newest order by newest.id desc limit most
      ) among cross join lateral (
        select e.workspace_id, e.id from posthorn.events e where e.workspace_id = among.workspace_id and e.event_type = wanted
        order by e.event_type, e.id desc limit most
      ) n order by n.id desc limit most
    ) n
    join posthorn.events e on e.workspace_id = n.workspace_id and e.id = n.id
    join posthorn.workspaces w on w.id = e.workspace_id
    where e.purged_at is null
  ) r where r.before < most_bytes order by r.id desc
$$;
