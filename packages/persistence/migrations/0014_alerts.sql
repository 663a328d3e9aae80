-- Alerts by e-mail and Slack. A change leaves a note in its own transaction, by one insert that waits for nobody. A worker folds
-- the notes into alerts: a few of an hour at once, the rest in one digest at its end.

-- What happened, until a worker has folded it.
create table posthorn.alert_notes (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null default posthorn.new_id('not_'),
  cause text collate "C" not null,
  endpoint_id text collate "C" not null,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (workspace_id, id)
);

-- The running hour of a cause. It begins with a note that is told at once, and ends with a digest of what was not.
create table posthorn.alert_hours (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  cause text collate "C" not null,
  began_at timestamptz(3) not null,
  -- How many were told at once.
  told integer not null default 0,
  primary key (workspace_id, cause)
);
create index alert_hours_oldest on posthorn.alert_hours (began_at);

-- How often it happened in the hour without being told, by endpoint.
create table posthorn.alert_counts (
  workspace_id text collate "C" not null,
  cause text collate "C" not null,
  endpoint_id text collate "C" not null,
  times integer not null default 0,
  primary key (workspace_id, cause, endpoint_id),
  foreign key (workspace_id, cause) references posthorn.alert_hours on delete cascade
);

create table posthorn.alerts (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null default posthorn.new_id('alr_'),
  kind text collate "C" not null check (kind in ('email', 'slack')),
  cause text collate "C" not null,
  -- An e-mail address, or the fingerprint of a Slack URL.
  recipient text not null,
  -- Null: a digest of several endpoints.
  endpoint_id text collate "C",
  happened_at timestamptz(3) not null,
  -- Of a digest: how often, of how many endpoints, and which most often. Null: one that is told at once.
  digest jsonb,
  state text collate "C" not null default 'pending' check (state in ('pending', 'sent', 'failed')),
  attempts smallint not null default 0,
  last_error text check (length(last_error) <= 200),
  -- The next attempt; while one runs, when its worker counts as dead.
  due_at timestamptz(3) not null default clock_timestamp(),
  sent_at timestamptz(3),
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (workspace_id, id)
);
create index alerts_newest on posthorn.alerts (workspace_id, created_at desc, id desc);
create index alerts_age on posthorn.alerts (created_at);
create index alerts_pending on posthorn.alerts (workspace_id, kind, due_at) where state = 'pending';

-- Notes what happened to endpoints of workspaces that have an alert on it. Called by: happened.
create function posthorn.note_alerts(happenings posthorn.happening[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into posthorn.alert_notes (workspace_id, cause, endpoint_id)
  select w.id, h.kind, h.facts ->> 'endpointId'
  from unnest(happenings) with ordinality as h(workspace_id, kind, facts, trace_id, index)
  join posthorn.workspaces w on w.id = h.workspace_id
  where w.alerts @> jsonb_build_array(jsonb_build_object('on', jsonb_build_array(h.kind)))
  order by h.index
$$;

-- One alert for each recipient that the workspace names for this cause. Called by: fold_alerts, close_alert_hour.
create function posthorn.make_alerts(workspace text, happened text, endpoint text, at timestamptz, summed jsonb) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into posthorn.alerts (workspace_id, kind, cause, recipient, endpoint_id, happened_at, digest)
  select w.id, a ->> 'kind', happened, coalesce(a ->> 'to', a ->> 'fingerprint'), endpoint, at, summed
  from posthorn.workspaces w cross join lateral jsonb_array_elements(w.alerts) a
  where w.id = workspace and a -> 'on' ? happened
$$;

-- Ends the hour of a cause, with a digest of what was not told in it. Called by: fold_alerts, close_alert_hours.
create function posthorn.close_alert_hour(workspace text, happened text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  summed record;
  began timestamptz;
begin
  select sum(c.times) as times, count(*) as endpoints, case count(*) when 1 then min(c.endpoint_id) end as only,
    jsonb_agg(jsonb_build_object('endpointId', c.endpoint_id, 'times', c.times) order by c.times desc, c.endpoint_id)
      filter (where c.place <= 10) as most
  into summed
  from (
    select c.endpoint_id, c.times, row_number() over (order by c.times desc, c.endpoint_id) as place
    from posthorn.alert_counts c where c.workspace_id = workspace and c.cause = happened and c.times > 0
  ) c;
  delete from posthorn.alert_hours h where h.workspace_id = workspace and h.cause = happened returning h.began_at into began;
  if summed.times > 0 then
    perform posthorn.make_alerts(workspace, happened, summed.only, began,
      jsonb_build_object('times', summed.times, 'endpoints', summed.endpoints, 'most', summed.most));
  end if;
end $$;

-- Folds up to `most` notes of a workspace; returns how many. At once are told: the first dead letter of an hour, and the first time of
-- each of 10 endpoints of every other cause. A note past the hour's end closes it and begins the next, however late it is folded.
-- A workspace that another worker folds is left to it. Called by: Alerts.fold.
create function posthorn.fold_alerts(workspace text, most integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  noted record;
  began timestamptz;
  at_once integer;
  folded integer := 0;
begin
  perform from posthorn.workspaces w where w.id = workspace for no key update skip locked;
  if not found then
    return 0;
  end if;
  for noted in
    with oldest as (
      delete from posthorn.alert_notes n where n.workspace_id = workspace and n.id = any (array(
        select n.id from posthorn.alert_notes n where n.workspace_id = workspace order by n.id limit most))
      returning n.id, n.cause, n.endpoint_id, n.created_at as at
    )
    select * from oldest o order by o.at, o.id
  loop
    folded := folded + 1;
    -- Again when another worker has just closed the hour.
    loop
      insert into posthorn.alert_hours (workspace_id, cause, began_at) values (workspace, noted.cause, noted.at)
        on conflict do nothing;
      select h.began_at into began from posthorn.alert_hours h
        where h.workspace_id = workspace and h.cause = noted.cause for update;
      exit when noted.at < began + interval '1 hour';
      if found then
        perform posthorn.close_alert_hour(workspace, noted.cause);
      end if;
    end loop;
    insert into posthorn.alert_counts (workspace_id, cause, endpoint_id) values (workspace, noted.cause, noted.endpoint_id)
      on conflict do nothing;
    get diagnostics at_once = row_count;
    update posthorn.alert_hours h set told = h.told + 1
      where h.workspace_id = workspace and h.cause = noted.cause and at_once = 1
        and h.told < case noted.cause when 'delivery.dead_lettered' then 1 else 10 end;
    get diagnostics at_once = row_count;
    if at_once = 1 then
      perform posthorn.make_alerts(workspace, noted.cause, noted.endpoint_id, noted.at, null);
    else
      update posthorn.alert_counts c set times = c.times + 1
        where c.workspace_id = workspace and c.cause = noted.cause and c.endpoint_id = noted.endpoint_id;
    end if;
  end loop;
  return folded;
end $$;

-- Closes up to `most` hours that are over; returns how many. An hour with notes that are not folded yet stays open. Skips hours that
-- another worker closes or folds into. Called by: Alerts.close.
create function posthorn.close_alert_hours(most integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  over record;
  closed integer := 0;
begin
  for over in
    select h.* from posthorn.alert_hours h
    where h.began_at <= clock_timestamp() - interval '1 hour' and not exists (
      select from posthorn.alert_notes n
      where n.workspace_id = h.workspace_id and n.cause = h.cause and n.created_at < h.began_at + interval '1 hour')
    order by h.began_at limit most for update of h skip locked
  loop
    closed := closed + 1;
    perform posthorn.close_alert_hour(over.workspace_id, over.cause);
  end loop;
  return closed;
end $$;

-- Whether there is anything to fold, to close or to send: three index steps. Called by: Alerts.hasWork.
create function posthorn.has_alert_work() returns boolean language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
  select exists (select from posthorn.alert_notes)
    or exists (select from posthorn.alert_hours h where h.began_at <= clock_timestamp() - interval '1 hour')
    or exists (select from posthorn.alerts a where a.state = 'pending')
$$;

-- Workspaces with notes, past an id, in order: one index step for each. Called by: Alerts.noted.
create function posthorn.noted_workspaces(past text, most integer) returns setof text
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  at text := past;
begin
  for n in 1 .. most loop
    at := (select a.workspace_id from posthorn.alert_notes a where a.workspace_id > at order by a.workspace_id limit 1);
    exit when at is null;
    return next at;
  end loop;
end $$;

-- Workspaces with alerts that wait, past an id, in order, and whether one of the kind is due. Called by: Alerts.waiting.
create function posthorn.alerting_workspaces(of_kind text, past text, most integer) returns table (workspace_id text, is_due boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  workspace_id := past;
  for n in 1 .. most loop
    workspace_id := (select a.workspace_id from posthorn.alerts a
      where a.workspace_id > alerting_workspaces.workspace_id and a.state = 'pending' order by a.workspace_id limit 1);
    exit when alerting_workspaces.workspace_id is null;
    is_due := exists (select from posthorn.alerts a
      where a.workspace_id = alerting_workspaces.workspace_id and a.kind = of_kind and a.state = 'pending'
        and a.due_at <= clock_timestamp());
    return next;
  end loop;
end $$;

-- Claims the longest due alert of a kind of each workspace, at most `most`: one more attempt, which nobody else makes while the lease
-- runs. With what the workspace is called and whom it tells now. Skips alerts that another worker claims. Called by: Alerts.claim.
create function posthorn.claim_alerts(of_kind text, workspaces text[], most integer, lease interval) returns table (
  workspace_id text, id text, kind text, cause text, recipient text, endpoint_id text, happened_at timestamptz(3), digest jsonb,
  attempts integer, slug text, name text, alerts jsonb, alert_secrets bytea
) language sql set search_path = pg_catalog, pg_temp as $$
  with next as materialized (
    select due.workspace_id, due.id from unnest(workspaces) as w(id)
    cross join lateral (
      select a.workspace_id, a.id from posthorn.alerts a
      where a.workspace_id = w.id and a.kind = of_kind and a.state = 'pending' and a.due_at <= clock_timestamp()
      order by a.due_at limit 1 for update skip locked
    ) due limit most
  ), claimed as (
    update posthorn.alerts a set attempts = a.attempts + 1, due_at = clock_timestamp() + lease
    from next where a.workspace_id = next.workspace_id and a.id = next.id returning a.*
  )
  select c.workspace_id, c.id, c.kind, c.cause, c.recipient, c.endpoint_id, c.happened_at, c.digest, c.attempts, w.slug, w.name,
    w.alerts, w.alert_secrets
  from claimed c join posthorn.workspaces w on w.id = c.workspace_id order by c.workspace_id
$$;

-- Stores the outcome of an attempt, unless its lease has ended and another one was begun. Returns whether it did.
-- Called by: Alerts.settle.
create function posthorn.settle_alert(workspace text, alert text, attempt integer, outcome text, error text, wait interval) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update posthorn.alerts a
  set state = outcome, last_error = error, sent_at = case outcome when 'sent' then clock_timestamp() end, due_at = clock_timestamp() + wait
  where a.workspace_id = workspace and a.id = alert and a.attempts = attempt and a.state = 'pending';
  return found;
end $$;

-- Removes up to `most` old alerts of all workspaces; returns how many. Called by: Retention.
create function posthorn.remove_old_alerts(kept interval, most integer) returns integer
language sql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
  with gone as (
    delete from posthorn.alerts a where (a.workspace_id, a.id) in (
      select o.workspace_id, o.id from posthorn.alerts o where o.created_at < now() - kept order by o.created_at limit most
    ) returning 1
  )
  select count(*)::integer from gone
$$;
