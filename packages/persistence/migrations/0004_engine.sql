-- What the delivery worker reads, and the little it writes besides `record`. Functions, so that their plans are made
-- once per connection. Taking work up writes nothing: one worker owns a shard, and remembers what it holds.

-- Times cross to the worker as microseconds since 1970: exact (a double holds them until the year 2255), and plain to
-- compare. Declared stable, as the functions they use are: PostgreSQL then writes them into the statement instead of
-- calling them, 1 us a row.
create function posthorn.micros(moment timestamptz) returns bigint language sql stable parallel safe
  return (date_part('epoch', moment) * 1000000)::bigint;

create function posthorn.from_micros(micros bigint) returns timestamptz language sql stable parallel safe
  return timestamptz 'epoch' + micros * interval '1 microsecond';

-- Rows of one endpoint that wait, from the oldest due, with as many attempts and claims each; `at_once` go out although the
-- endpoint's lane pauses. Ids and due times are lists: a row for each delivery would cost the worker 2 us more to read.
create type posthorn.waiting as (
  workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean,
  delivery_ids text, dues text
);

-- The transactions that have published to these shards and may still commit: "transaction shard,…".
create function posthorn.publishing(shards smallint[]) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce((
    select string_agg(l.virtualtransaction || ' ' || l.objid, ',') from pg_locks l
    where l.locktype = 'advisory' and l.classid = posthorn.wake_class() and l.objsubid = 2 and l.mode = 'ShareLock'
      and l.objid = any (shards::oid[]) and l.database = (select oid from pg_database where datname = current_database())
  ), '');
end $$;

-- What has become due in these shards past each one's watermark, at most `per_shard` of each, the oldest; `skip` are
-- endpoints of whose rows the caller wants only those that are `at_once`. With those it looks at no more than `look_most` rows
-- of a shard, so that no call takes long however many they have. Rows without an endpoint tell where it looked: for a shard in which it stopped
-- before the end, one holds the last row it looked at. One has no shard either: its `dues` is the time up to which was looked,
-- its `delivery_ids` are the transactions that are `publishing`. They are looked up before the rows are, each time anew (so this is
-- no stable function): whoever is not among them is seen, or has published later than that time, cut to the millisecond.
-- Without sorting, so that rows are gathered in the order in which they are found.
create function posthorn.due(
  shards smallint[], past_due bigint[], past_ids text[], skip text[], per_shard integer, look_most integer
) returns setof posthorn.waiting
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  moment constant timestamptz := clock_timestamp();
  open constant text := posthorn.publishing(shards);
begin
  return query
    select null, null, null::smallint, null::smallint, null::smallint, null::boolean, open, posthorn.micros(moment)::text
    union all
    -- Looked at without skipping anything, `per_shard` rows end it first.
    (select null, null, w.shard, null, null, null, stop.delivery_id, posthorn.micros(stop.due_at)::text
      from unnest(shards, past_due, past_ids) as w(shard, due, id)
      cross join lateral (
        select q.due_at, q.delivery_id from posthorn.queue q
        where q.shard = w.shard and (q.due_at, q.delivery_id) > (posthorn.from_micros(w.due), w.id) and q.due_at <= moment
        order by q.due_at, q.delivery_id offset look_most - 1 limit 1
      ) stop
      where cardinality(skip) > 0)
    union all
    (select q.workspace_id, q.endpoint_id, q.shard, q.attempts, q.claims, q.at_once, string_agg(q.delivery_id, ','),
        string_agg(posthorn.micros(q.due_at)::text, ',')
      from unnest(shards, past_due, past_ids) as w(shard, due, id)
      cross join lateral (
        select * from (
          select * from posthorn.queue q
          where q.shard = w.shard and (q.due_at, q.delivery_id) > (posthorn.from_micros(w.due), w.id) and q.due_at <= moment
          order by q.due_at, q.delivery_id limit look_most
        ) looked
        where looked.endpoint_id <> all (skip) or looked.at_once
        order by looked.due_at, looked.delivery_id limit per_shard
      ) q
      group by 1, 2, 3, 4, 5, 6);
end $$;

-- When the next row becomes due.
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

-- The same for single endpoints, each from a row on: refills lanes that could not be held in memory whole.
create function posthorn.due_of(
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

-- The first row of each endpoint past this one, in the order of the keys, at most `most`: one step in the index for each
-- endpoint, however many rows it has. So everything that waits can be found without passing the rows of endpoints that are
-- disabled. What is not due yet comes too, as it says where the next call goes on.
create function posthorn.heads(after_workspace text, after_endpoint text, most integer)
returns table (workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean,
  delivery_id text, due bigint, is_due boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  return query
    with recursive heads as (
      (select q.workspace_id, q.endpoint_id, q.shard, q.attempts, q.claims, q.at_once, q.delivery_id, q.due_at
       from posthorn.queue q
       where (q.workspace_id, q.endpoint_id) > (after_workspace, after_endpoint)
       order by q.workspace_id, q.endpoint_id, q.due_at, q.delivery_id limit 1)
      union all
      select n.* from heads h cross join lateral (
        select q.workspace_id, q.endpoint_id, q.shard, q.attempts, q.claims, q.at_once, q.delivery_id, q.due_at
        from posthorn.queue q
        where (q.workspace_id, q.endpoint_id) > (h.workspace_id, h.endpoint_id)
        order by q.workspace_id, q.endpoint_id, q.due_at, q.delivery_id limit 1
      ) n
    )
    select h.workspace_id, h.endpoint_id, h.shard, h.attempts, h.claims, h.at_once, h.delivery_id,
      posthorn.micros(h.due_at), h.due_at <= now()
    from heads h limit most;
end $$;

create type posthorn.loaded as (
  place integer, event_type text, payload text, trace_id text, test boolean, failures integer,
  version text, url text, enabled boolean, generation integer, secret bytea, previous_secret bytea
);

-- All that a post needs, read at dispatch; `place` counts from 1 in the arrays. A delivery that is gone, or was recorded
-- meanwhile, is left out. An endpoint's version is a hash of what is read of it: those of which the caller has the `known`
-- version come without that. So a version means the same for ever, also in a database that was restored to an earlier
-- day, which a counter or a transaction's id does not. The streak is no part of it, as it changes with each failure.
--
-- Row by row through the primary keys, whatever the statistics say: the lateral steps fix the order, because the queue is
-- mostly empty when PostgreSQL counts it, and a plan made for an empty table takes 10 ms per row when it is full.
create function posthorn.load(workspaces text[], deliveries text[], attempts smallint[], known bigint[])
returns setof posthorn.loaded
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return query
    select w.place::integer, d.event_type, d.payload, d.trace_id, d.test, e.consecutive_failures, e.version::text, n.url, n.enabled,
      n.generation, n.secret, n.previous_secret
    from unnest(workspaces, deliveries, attempts, known) with ordinality
      as w(workspace_id, delivery_id, attempts, known, place)
    cross join lateral (
      select d.workspace_id, d.endpoint_id, d.event_type, d.trace_id, d.event_id is null as test,
        coalesce(d.payload, (
          select e.payload from posthorn.events e where e.workspace_id = d.workspace_id and e.id = d.event_id
        )) as payload
      from posthorn.deliveries d
      where d.workspace_id = w.workspace_id and d.id = w.delivery_id and d.attempts = w.attempts
        and d.status in ('pending', 'failed') offset 0
    ) d
    cross join lateral (
      select r.*, hash_record_extended(row(r.url, r.enabled, r.generation, r.secret, r.previous_secret), 0) as version
      from (
        select e.url, e.enabled, e.generation, e.consecutive_failures, e.secret,
          case when e.previous_secret_expires_at > clock_timestamp() then e.previous_secret end as previous_secret
        from posthorn.endpoints e
        where e.workspace_id = d.workspace_id and e.id = d.endpoint_id offset 0
      ) r offset 0
    ) e
    left join lateral (
      select e.url, e.enabled, e.generation, e.secret, e.previous_secret where e.version <> w.known
    ) n on true;
end $$;

-- Whether this version of a row was there for whoever looked at that moment; true when there is no moment.
create function posthorn.was_visible(version xid, moment pg_snapshot) returns boolean language sql stable
  return moment is null or (
    select pg_visible_in_snapshot((latest - ((latest - version::text::bigint) & 4294967295))::text::xid8, moment)
    from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as now(latest)
  );

-- Writes down that deliveries are claimed: before they are sent, when a dead worker may have held them (`sending`), or
-- afterwards, when a claim ended without an observation. `counts` is what the caller counts up to, so a call that is
-- repeated because its answer was lost counts nothing twice. One that stands at the limit already goes to the dead-letter
-- queue instead. Nobody is waited for: what somebody else holds is 'held', and is left as it is. What is gone, or was
-- recorded meanwhile, is not returned.
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
      -- Two, with the one that is assumed of the dead owner: but that one cannot have seen what was committed since.
      case when w.count = 2 and sending
        and not (select posthorn.was_visible(q.xmin, s.suspect_snapshot) from posthorn.shards s where s.shard = q.shard)
        then 1 else w.count end as count
    from asked w
    join posthorn.queue q
      on q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id and q.attempts = w.attempts
    order by q.workspace_id, q.delivery_id for update of q skip locked
  ), poison as materialized (
    -- A delivery that is being deleted is locked before its row in the queue is.
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
  select q.delivery_id, 'held' from asked w
  join posthorn.queue q
    on q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id and q.attempts = w.attempts
  where q.delivery_id not in (select delivery_id from done);
end $$;

-- Who has each shard, and whether its last owner gave it back. `owner` is still set when a worker takes a shard over:
-- then that worker died, froze or lost its connection, and may have been sending what was due by then (`suspect_until`)
-- and committed (`suspect_snapshot`).
-- One that takes back its own shard, after the database was away, remembers what it sent.
create table posthorn.shards (
  shard smallint primary key,
  owner text,
  suspect_until bigint,
  suspect_snapshot pg_snapshot
) with (fillfactor = 50);
insert into posthorn.shards (shard) select generate_series(0, posthorn.shard_count() - 1);

-- The last owner's due horizon when it was not given back cleanly, else null.
create function posthorn.take_shard(wanted smallint, new_owner text) returns bigint language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.shards
  set suspect_until = case when owner = new_owner then suspect_until when owner is not null then posthorn.micros(clock_timestamp()) end,
      suspect_snapshot = case when owner = new_owner then suspect_snapshot when owner is not null then pg_current_snapshot() end,
      owner = new_owner
  where shard = wanted
  returning suspect_until
$$;

-- Ends the suspicion of those of the owner's shards in which nothing is left that a dead one may have held, and gives them:
-- what was due by then is recorded or gone. What is committed since with such a due time, it cannot have seen.
create function posthorn.clear_suspicion(shards smallint[], present_owner text) returns setof smallint language sql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  update posthorn.shards s set suspect_until = null, suspect_snapshot = null
  where s.shard = any (shards) and s.owner = present_owner and not exists (
    select from posthorn.queue q where q.shard = s.shard and q.due_at <= posthorn.from_micros(s.suspect_until)
  )
  returning s.shard
$$;

create function posthorn.give_back_shard(given smallint, last_owner text) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.shards set owner = null where shard = given and owner = last_owner
$$;

-- Work that no due time tells of begins at once: the waiting deliveries of an endpoint that is enabled again, whoever did
-- it, and replay jobs that were started.
create function posthorn.tell_workers() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', '');
  return null;
end $$;

-- Whoever has mended a receiver, or says where it is now, sees within a moment whether it works: its lane probes at once, and
-- goes on from this streak.
create function posthorn.tell_mended() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due',
    'mended ' || new.id || ' ' || new.consecutive_failures || ' ' || posthorn.shard_of(new.id));
  return null;
end $$;

create trigger endpoints_mended after update of url, policy, enabled on posthorn.endpoints
  for each row when (new.url <> old.url or new.policy is distinct from old.policy or new.enabled and not old.enabled)
  execute function posthorn.tell_mended();

create trigger endpoints_enabled after update of enabled on posthorn.endpoints
  for each row when (new.enabled and not old.enabled) execute function posthorn.tell_workers();
