-- What the delivery worker reads, and the little it writes besides `record`. These are functions, so that they are planned once
-- per connection. A claim usually writes nothing: a shard's owner remembers in memory what it holds.

-- Times are passed to the worker as microseconds since 1970: exact (a double holds them until the year 2255), and easy to
-- compare. These functions are declared stable like the ones they call, so that PostgreSQL inlines them: 1 us a row.
create function posthorn.micros(moment timestamptz) returns bigint language sql stable parallel safe
  return (date_part('epoch', moment) * 1000000)::bigint;

create function posthorn.from_micros(micros bigint) returns timestamptz language sql stable parallel safe
  return timestamptz 'epoch' + micros * interval '1 microsecond';

-- A run of waiting rows of one endpoint, by due time, with equal numbers of attempts and claims; `at_once` ones go out although
-- the endpoint's lane pauses. Ids and due times are lists: one row for each delivery would cost the worker 2 us more to read.
create type posthorn.waiting as (
  workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean,
  delivery_ids text, dues text
);

-- The transactions that have published to these shards and may still commit: "transaction shard,…".
create function posthorn.open_publishers(shards smallint[]) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce((
    select string_agg(l.virtualtransaction || ' ' || l.objid, ',') from pg_locks l
    where l.locktype = 'advisory' and l.classid = posthorn.wake_class() and l.objsubid = 2 and l.mode = 'ShareLock'
      and l.objid = any (shards::oid[]) and l.database = (select oid from pg_database where datname = current_database())
  ), '');
end $$;

-- Rows that became due in these shards past each shard's watermark: the oldest, at most `per_shard` of each. Of the endpoints
-- in `skip` the caller wants only rows that are `at_once`. If `skip` is not empty, at most `scan_limit` rows of a shard are
-- scanned, so that no call takes long. Rows without an endpoint tell where reading stopped: for a shard whose end was not
-- reached, one has the last row that was read. One has no shard either: its `dues` is the time up to which was read, and its
-- `delivery_ids` are the transactions that are `publishing`. These are looked up before the rows (so this function is not
-- stable). A transaction that is not among them either is visible to this read, or has due times after that time, truncated to
-- milliseconds. Rows are not sorted, but gathered in the order in which they are found.
create function posthorn.due(
  shards smallint[], cursor_dues bigint[], cursor_ids text[], skip text[], per_shard integer, scan_limit integer
) returns setof posthorn.waiting
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  moment constant timestamptz := clock_timestamp();
  open constant text := posthorn.open_publishers(shards);
begin
  return query
    select null, null, null::smallint, null::smallint, null::smallint, null::boolean, open, posthorn.micros(moment)::text
    union all
    -- Without `skip`, the limit `per_shard` ends the scan first.
    (select null, null, w.shard, null, null, null, stop.delivery_id, posthorn.micros(stop.due_at)::text
      from unnest(shards, cursor_dues, cursor_ids) as w(shard, due, id)
      cross join lateral (
        select q.due_at, q.delivery_id from posthorn.queue q
        where q.shard = w.shard and (q.due_at, q.delivery_id) > (posthorn.from_micros(w.due), w.id) and q.due_at <= moment
        order by q.due_at, q.delivery_id offset scan_limit - 1 limit 1
      ) stop
      where cardinality(skip) > 0)
    union all
    (select q.workspace_id, q.endpoint_id, q.shard, q.attempts, q.claims, q.at_once, string_agg(q.delivery_id, ','),
        string_agg(posthorn.micros(q.due_at)::text, ',')
      from unnest(shards, cursor_dues, cursor_ids) as w(shard, due, id)
      cross join lateral (
        select * from (
          select * from posthorn.queue q
          where q.shard = w.shard and (q.due_at, q.delivery_id) > (posthorn.from_micros(w.due), w.id) and q.due_at <= moment
          order by q.due_at, q.delivery_id limit scan_limit
        ) scanned
        where scanned.endpoint_id <> all (skip) or scanned.at_once
        order by scanned.due_at, scanned.delivery_id limit per_shard
      ) q
      group by 1, 2, 3, 4, 5, 6);
end $$;

-- When the next row will become due.
create function posthorn.next_due(shards smallint[]) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (
    select posthorn.micros(min(q.due_at)) from unnest(shards) as w(shard)
    cross join lateral (
      select due_at from posthorn.queue q where q.shard = w.shard and q.due_at > now() order by q.due_at limit 1
    ) q
  );
end $$;

-- The same for single endpoints, each from a given row on: refills lanes that did not fit into memory.
create function posthorn.due_of_endpoints(
  workspaces text[], endpoints text[], from_due bigint[], from_ids text[], per_endpoint integer[]
) returns setof posthorn.waiting
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return query
    select q.workspace_id, q.endpoint_id, q.shard, q.attempts, q.claims, q.at_once, string_agg(q.delivery_id, ','),
      string_agg(posthorn.micros(q.due_at)::text, ',')
    from unnest(workspaces, endpoints, from_due, from_ids, per_endpoint) as w(workspace_id, endpoint_id, due, id, wanted)
    cross join lateral (
      select * from posthorn.queue q
      where q.workspace_id = w.workspace_id and q.endpoint_id = w.endpoint_id
        and (q.due_at, q.delivery_id) >= (posthorn.from_micros(w.due), w.id) and q.due_at <= now()
      order by q.due_at, q.delivery_id limit w.wanted
    ) q
    group by 1, 2, 3, 4, 5, 6;
end $$;

-- The first row of each endpoint after the given one, by key, at most `most`: one index step for each endpoint, however many
-- rows it has. So every waiting row can be found without reading past the rows of disabled endpoints. Rows that are not due yet
-- are returned too, because they tell where the next call continues.
create function posthorn.first_of_endpoints(after_workspace text, after_endpoint text, most integer)
returns table (workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean,
  delivery_id text, due bigint, is_due boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  return query
    with recursive firsts as (
      (select q.workspace_id, q.endpoint_id, q.shard, q.attempts, q.claims, q.at_once, q.delivery_id, q.due_at
       from posthorn.queue q
       where (q.workspace_id, q.endpoint_id) > (after_workspace, after_endpoint)
       order by q.workspace_id, q.endpoint_id, q.due_at, q.delivery_id limit 1)
      union all
      select n.* from firsts h cross join lateral (
        select q.workspace_id, q.endpoint_id, q.shard, q.attempts, q.claims, q.at_once, q.delivery_id, q.due_at
        from posthorn.queue q
        where (q.workspace_id, q.endpoint_id) > (h.workspace_id, h.endpoint_id)
        order by q.workspace_id, q.endpoint_id, q.due_at, q.delivery_id limit 1
      ) n
    )
    select h.workspace_id, h.endpoint_id, h.shard, h.attempts, h.claims, h.at_once, h.delivery_id,
      posthorn.micros(h.due_at), h.due_at <= now()
    from firsts h limit most;
end $$;

create type posthorn.loaded as (
  index integer, event_type text, payload text, trace_id text, test boolean, created_at text, failures integer,
  version text, url text, enabled boolean, generation integer, secret bytea, previous_secret bytea,
  policy text, workspace_policy text, policy_version text, slug text, request text, request_secrets bytea
);

-- Everything a post needs, read at dispatch; `index` is the position in the arrays, from 1. A delivery that is gone, or was
-- recorded meanwhile, is left out. An endpoint's version is a hash of its columns here; endpoints whose `known` version is
-- current come without these columns. So a version always means the same, even after the database was restored to an earlier
-- day, unlike a counter or a transaction id. The streak is not part of it, because it changes with each failure. When the event
-- was published (a test send: when it was sent) is read only for endpoints whose requests may show it. A delivery of another
-- endpoint than the one that is named is left out: any role can notify, and so name a delivery.
--
-- Looks up each row by primary key, whatever the statistics say: the lateral joins fix the order. The queue is mostly empty
-- when PostgreSQL analyses it, and a plan made for an empty table takes 10 ms a row when it is full.
create function posthorn.load(workspaces text[], deliveries text[], endpoints text[], attempts smallint[], known bigint[])
returns setof posthorn.loaded
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return query
    select w.index::integer, d.event_type, d.payload, d.trace_id, d.test,
      case when e.request is not null then to_char(coalesce(
        (select v.created_at from posthorn.events v where v.workspace_id = d.workspace_id and v.id = d.event_id), d.created_at
      ) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end,
      e.consecutive_failures, e.version::text, n.url, n.enabled, n.generation, n.secret, n.previous_secret, n.policy::text,
      n.workspace_policy::text, posthorn.policy_version(n.policy, n.workspace_policy)::text, n.slug, n.request::text,
      n.request_secrets
    from unnest(workspaces, deliveries, endpoints, attempts, known) with ordinality
      as w(workspace_id, delivery_id, endpoint_id, attempts, known, index)
    cross join lateral (
      select d.workspace_id, d.endpoint_id, d.event_type, d.trace_id, d.event_id, d.event_id is null as test, d.created_at,
        coalesce(d.payload, (
          select e.payload from posthorn.events e where e.workspace_id = d.workspace_id and e.id = d.event_id
        )) as payload
      from posthorn.deliveries d
      where d.workspace_id = w.workspace_id and d.id = w.delivery_id and d.endpoint_id = w.endpoint_id
        and d.attempts = w.attempts and d.status in ('pending', 'failed') offset 0
    ) d
    cross join lateral (
      select r.*, hash_record_extended(row(r.url, r.enabled, r.generation, r.secret, r.previous_secret, r.policy,
        r.workspace_policy, r.request, r.request_secrets), 0) as version
      from (
        select e.url, e.enabled, e.generation, e.consecutive_failures, e.secret,
          case when e.previous_secret_expires_at > clock_timestamp() then e.previous_secret end as previous_secret, e.policy,
          w.policy as workspace_policy, w.slug, e.request, e.request_secrets
        from posthorn.endpoints e
        cross join lateral (select w.policy, w.slug from posthorn.workspaces w where w.id = d.workspace_id offset 0) w
        where e.workspace_id = d.workspace_id and e.id = d.endpoint_id offset 0
      ) r offset 0
    ) e
    left join lateral (
      select e.url, e.enabled, e.generation, e.secret, e.previous_secret, e.policy, e.workspace_policy, e.slug, e.request,
        e.request_secrets
      where e.version <> w.known
    ) n on true;
end $$;

-- Whether this version of a row was visible at that moment; true if the moment is null.
create function posthorn.was_visible(version xid, moment pg_snapshot) returns boolean language sql stable
  return moment is null or (
    select pg_visible_in_snapshot((latest - ((latest - version::text::bigint) & 4294967295))::text::xid8, moment)
    from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as now(latest)
  );

-- Stores claims of deliveries: before they are sent, if a dead worker may have been sending them (`sending`), or afterwards, if
-- a claim ended without an observation. `counts` has the totals up to which the caller counts, so repeating a call whose answer
-- was lost counts nothing twice. A delivery that is already at the limit goes to the dead-letter queue instead. It waits for
-- nobody: locked rows are returned as 'blocked' and not changed. Deliveries that are gone, or were recorded meanwhile, are not
-- returned.
create function posthorn.claim(
  workspaces text[], deliveries text[], attempts smallint[], counts smallint[], claim_limit integer, sending boolean
) returns table (delivery_id text, outcome text)
language plpgsql set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set lock_timeout = '500ms' as $$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select * from unnest(workspaces, deliveries, attempts, counts) as w(workspace_id, delivery_id, attempts, count)
  ), wanted as materialized (
    select q.workspace_id, q.delivery_id, q.attempts, q.claims, q.maybe_sent,
      -- Two claims, including one that the dead owner is assumed to have made; but the dead owner cannot have seen rows
      -- committed since.
      case when w.count = 2 and sending
        and not (select posthorn.was_visible(q.xmin, s.in_doubt_snapshot) from posthorn.shards s where s.shard = q.shard)
        then 1 else w.count end as count
    from asked w
    join posthorn.queue q
      on q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id and q.attempts = w.attempts
    order by q.workspace_id, q.delivery_id for update of q skip locked
  ), poison as materialized (
    -- Deleting a delivery locks it before its row in the queue.
    select w.* from wanted w
    join posthorn.deliveries d on d.workspace_id = w.workspace_id and d.id = w.delivery_id
    where w.claims >= claim_limit and w.count > w.claims for key share of d skip locked
  ), letters as (
    insert into posthorn.dead_letters (workspace_id, delivery_id, reason)
    select workspace_id, delivery_id, case when attempts = 0 and not maybe_sent then 'never_sent' else 'no_outcome' end
    from poison on conflict do nothing
  ), given_up as (
    delete from posthorn.queue q using poison p where q.workspace_id = p.workspace_id and q.delivery_id = p.delivery_id
    returning q.delivery_id
  ), counted as (
    update posthorn.queue q
    set claims = greatest(w.claims, least(w.count, claim_limit)), maybe_sent = w.maybe_sent or sending
    from wanted w
    where not (w.claims >= claim_limit and w.count > w.claims)
      and q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id
    returning q.delivery_id
  ), done as (
    select delivery_id, 'counted' as outcome from counted union all select delivery_id, 'given_up' from given_up
  )
  select delivery_id, outcome from done
  union all
  select q.delivery_id, 'blocked' from asked w
  join posthorn.queue q
    on q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id and q.attempts = w.attempts
  where q.delivery_id not in (select delivery_id from done);
end $$;

-- The owner of each shard, and whether its last owner gave it back. If `owner` is still set when a worker takes the shard over,
-- the last owner died, froze or lost its connection. It may have been sending rows that were due (`in_doubt_until`) and
-- committed (`in_doubt_snapshot`) by then. A worker that takes its own shard back, after the database was unavailable, remembers
-- what it sent.
create table posthorn.shards (
  shard smallint primary key,
  owner text,
  in_doubt_until bigint,
  in_doubt_snapshot pg_snapshot
) with (fillfactor = 50);
insert into posthorn.shards (shard) select generate_series(0, posthorn.shard_count() - 1);

-- If the last owner did not give the shard back: the moment up to which its rows are in doubt. Otherwise null.
create function posthorn.take_shard(wanted smallint, new_owner text) returns bigint language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.shards
  set in_doubt_until = case when owner = new_owner then in_doubt_until when owner is not null then posthorn.micros(clock_timestamp()) end,
      in_doubt_snapshot = case when owner = new_owner then in_doubt_snapshot when owner is not null then pg_current_snapshot() end,
      owner = new_owner
  where shard = wanted
  returning in_doubt_until
$$;

-- How long an owner may go on starting attempts after its shard was taken over: the lease timeout of a worker that lost only its lock
-- connection, and the error of its clock.
create function posthorn.outlives_its_lease() returns interval language sql immutable parallel safe
  return interval '4.5 seconds';

-- Clears the doubt in those of the owner's shards in which every row that was due by then is recorded or gone, and returns
-- these shards. Rows committed since with such a due time do not count: the dead owner cannot have seen them.
create function posthorn.clear_doubt(shards smallint[], present_owner text) returns setof smallint language sql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  update posthorn.shards s set in_doubt_until = null, in_doubt_snapshot = null
  where s.shard = any (shards) and s.owner = present_owner
    and posthorn.from_micros(s.in_doubt_until) + posthorn.outlives_its_lease() <= clock_timestamp()
    and not exists (
    select from posthorn.queue q where q.shard = s.shard and q.due_at <= posthorn.from_micros(s.in_doubt_until)
  )
  returning s.shard
$$;

create function posthorn.release_shard(given smallint, last_owner text) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.shards set owner = null where shard = given and owner = last_owner
$$;

-- What was begun of endpoints with a rate, by those who owned their shards before: for each, how long ago in milliseconds, within the
-- window of the rate and the two seconds by which a recorded time may be off, the last one first.
--
-- If the last owner died, some of what it had begun is not recorded. It may also live on without its locks, and begin attempts for
-- 4.5 s after its shard was taken over: FENCE_MS and CLOCK_ERROR_MS of the worker. At most `most_unrecorded` attempts of an endpoint, no more
-- than have a row in the queue that was due by then, and no more than the rate allowed it. They count as begun then, and are stored,
-- because the next owner must count them too, and knows nothing of this death. Until then such an age is below 0.
create function posthorn.starts_since(
  workspaces text[], endpoints text[], requests integer[], windows integer[], most_unrecorded integer[]
) returns table (index integer, ages double precision[])
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
  select w.workspace_id, w.endpoint_id, s.stopped_at, 'unrecorded ' || n
  from unnest(workspaces, endpoints, requests, windows, most_unrecorded) as w(workspace_id, endpoint_id, requests, seconds, most)
  -- Null when the last owner gave it back: then nothing waited for it.
  cross join lateral (
    select posthorn.from_micros(s.in_doubt_until) + posthorn.outlives_its_lease() as stopped_at from posthorn.shards s
    where s.shard = posthorn.shard_of(w.endpoint_id)
  ) s
  cross join lateral (
    select count(*) as rows from (
      select from posthorn.queue q
      where q.workspace_id = w.workspace_id and q.endpoint_id = w.endpoint_id and q.due_at <= s.stopped_at limit w.most
    ) q
  ) waiting
  cross join lateral (
    select count(*) as rows from (
      select from posthorn.attempt_starts b
      where b.workspace_id = w.workspace_id and b.endpoint_id = w.endpoint_id
        and b.at > s.stopped_at - w.seconds * interval '1 second' and b.at <= s.stopped_at limit w.requests
    ) b
  ) recorded
  cross join lateral generate_series(1, least(waiting.rows, w.requests - recorded.rows)) as n
  on conflict do nothing;
  return query
    select w.index::integer, array(
      select (extract(epoch from clock_timestamp() - b.at) * 1000)::double precision from posthorn.attempt_starts b
      where b.workspace_id = w.workspace_id and b.endpoint_id = w.endpoint_id
        and b.at > clock_timestamp() - (w.seconds + 2) * interval '1 second'
      order by b.at desc, b.id desc limit w.requests
    )
    from unnest(workspaces, endpoints, requests, windows) with ordinality as w(workspace_id, endpoint_id, requests, seconds, index);
end $$;

-- The rate in force: an endpoint's own, also if that is null, or its workspace's.
create function posthorn.rate_of(own jsonb, inherited jsonb) returns jsonb language sql immutable parallel safe
  return nullif(case when own ? 'rateLimit' then own -> 'rateLimit' else inherited -> 'rateLimit' end, 'null');

-- When the next attempt of an endpoint may begin by its rate, as far as attempts are recorded. Null without a rate, and when one
-- could have begun for `tolerance` and did not: then it is not the rate that it waits for.
create function posthorn.next_start(workspace text, endpoint text, tolerance interval default '10 seconds') returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return (
    select b.at + rate.width
    from (
      select (of_it.rate ->> 'requests')::integer as requests, (of_it.rate ->> 'perSeconds')::integer * interval '1 second' as width
      from posthorn.endpoints e join posthorn.workspaces w on w.id = e.workspace_id
      cross join lateral (select posthorn.rate_of(e.policy, w.policy) as rate offset 0) of_it
      where e.workspace_id = workspace and e.id = endpoint
    ) rate
    cross join lateral (
      select b.at from posthorn.attempt_starts b
      where b.workspace_id = workspace and b.endpoint_id = endpoint and b.at > clock_timestamp() - rate.width - tolerance
      order by b.at desc, b.id desc offset rate.requests - 1 limit 1
    ) b
  );
end $$;

-- Forgets attempts that no rate counts any more.
create function posthorn.forget_starts() returns integer language sql
set search_path = pg_catalog, pg_temp as $$
  with gone as (
    delete from posthorn.attempt_starts where at < clock_timestamp() - interval '61 minutes' returning 1
  )
  select count(*)::integer from gone
$$;

-- Wakes workers for work that has no due time: the waiting deliveries of an endpoint that is enabled again, whoever enabled it,
-- and new replay jobs.
create function posthorn.tell_workers() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', '');
  return null;
end $$;

-- When an endpoint is enabled, or its URL, request or policy changes, its lane probes at once, and continues from this streak. So
-- whoever has repaired a receiver sees within a moment whether it works.
create function posthorn.tell_endpoint_changed() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due',
    'endpoint ' || new.id || ' ' || new.consecutive_failures || ' ' || posthorn.shard_of(new.id));
  return null;
end $$;

create trigger endpoints_changed after update of url, policy, request, enabled on posthorn.endpoints
  for each row when (new.url <> old.url or new.policy is distinct from old.policy or new.request is distinct from old.request
    or new.enabled and not old.enabled)
  execute function posthorn.tell_endpoint_changed();

-- Lanes that wait for their rate load nothing, so they would not learn of another one.
create function posthorn.tell_policy() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', 'policy ' || new.id);
  return null;
end $$;

create trigger workspaces_policy after update of policy on posthorn.workspaces
  for each row when (new.policy is distinct from old.policy) execute function posthorn.tell_policy();

create trigger endpoints_enabled after update of enabled on posthorn.endpoints
  for each row when (new.enabled and not old.enabled) execute function posthorn.tell_workers();
