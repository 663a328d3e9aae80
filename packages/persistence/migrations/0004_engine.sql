-- What the delivery worker reads, and the little it writes besides `record`. Reading a row writes nothing: the shard's owner
-- remembers what it has read.
--   cursor   `due` reads a shard on from the (due time, delivery) at which the last poll ended
--   lock     a publishing transaction holds a shared lock on its shards; each poll lists these transactions (`open_publishers`)
--   rewind   while such a transaction is young, and once after its end, the next poll starts before its publishing
--   sweep    every 30 s the first row of each endpoint is looked for in memory
--   id       a row whose delivery is in memory is not taken again
--   ordinal  of each delivery, `record` stores the next attempt only

-- Microseconds since 1970, exact in a double. Stable, so that PostgreSQL inlines it: a call would cost 1 us a row.
create function posthorn.micros(moment timestamptz) returns bigint language sql stable parallel safe
  return (date_part('epoch', moment) * 1000000)::bigint;

create function posthorn.from_micros(micros bigint) returns timestamptz language sql stable parallel safe
  return timestamptz 'epoch' + micros * interval '1 microsecond';

-- Rows of an endpoint with equal attempts and claims, as lists by due time. Single rows would cost the worker 2 us more each.
create type posthorn.waiting as (
  workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean,
  delivery_ids text, dues text
);

-- Returns the open transactions that have published to these shards, as "transaction shard,…". Called by: due.
create function posthorn.open_publishers(shards smallint[]) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce((
    select string_agg(l.virtualtransaction || ' ' || l.objid, ',') from pg_locks l
    where l.locktype = 'advisory' and l.classid = posthorn.sleep_lock_class() and l.objsubid = 2 and l.mode = 'ShareLock'
      and l.objid = any (shards::oid[]) and l.database = (select oid from pg_database where datname = current_database())
  ), '');
end $$;

-- Takes, until the session ends, those sleep locks that are free. Returns the shards of these locks (`taken`), and those whose lock
-- another session holds exclusively. Called by: SleepLocks.
create function posthorn.take_sleep_locks(shards integer[]) returns table (shard integer, taken boolean) language sql
set search_path = pg_catalog, pg_temp as $$
  with tried as materialized (
    select w.shard, pg_try_advisory_lock(posthorn.sleep_lock_class(), w.shard) as taken from unnest(shards) as w(shard)
  )
  select t.shard, t.taken from tried t
  where t.taken or exists (
    select from pg_locks l where l.locktype = 'advisory' and l.classid = posthorn.sleep_lock_class() and l.objsubid = 2
      and l.objid = t.shard::oid and l.mode = 'ExclusiveLock' and l.granted
      and l.database = (select oid from pg_database where datname = current_database())
  )
$$;

-- Reads rows that became due past each shard's cursor, oldest first, at most `per_shard` of a shard.
-- Parameters: `skip`, endpoints of which only `at_once` rows are returned; `scan_limit`, the most rows of a shard scanned with `skip`.
-- Returns three kinds of row. With an endpoint: a run of due rows. With a shard alone: where its scan stopped. With neither: the
-- time of the read, and the open publishers. Open publishers are listed before rows are read. So a row that the read misses was
-- written by one of them, or is due later. Called by: Polls.
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

-- Reads the due rows of each given endpoint that is enabled, from the given row on. Called by: Queue.dueOfEndpoints.
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
      select from posthorn.endpoints e where e.workspace_id = w.workspace_id and e.id = w.endpoint_id and e.enabled offset 0
    ) enabled
    cross join lateral (
      select * from posthorn.queue q
      where q.workspace_id = w.workspace_id and q.endpoint_id = w.endpoint_id
        and (q.due_at, q.delivery_id) >= (posthorn.from_micros(w.due), w.id) and q.due_at <= now()
      order by q.due_at, q.delivery_id limit w.wanted
    ) q
    group by 1, 2, 3, 4, 5, 6;
end $$;

-- Looks at the first row of `most` endpoints after the given one: two index steps each. Returns the rows that are due and whose
-- endpoint is enabled (`is_ready`), and the last row looked at (`is_last`). Called by: Queue.firstOfEndpoints.
create function posthorn.first_of_endpoints(after_workspace text, after_endpoint text, most integer)
returns table (workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean,
  delivery_id text, due bigint, is_ready boolean, is_last boolean)
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
      posthorn.micros(h.due_at), ready.is_ready, h.is_last
    from (select f.*, row_number() over () = most as is_last from firsts f limit most) h
    cross join lateral (
      select coalesce(h.due_at <= now() and (
        select e.enabled from posthorn.endpoints e where e.workspace_id = h.workspace_id and e.id = h.endpoint_id
      ), false) as is_ready offset 0
    ) ready
    where ready.is_ready or h.is_last;
end $$;

create type posthorn.loaded as (
  index integer, event_type text, payload text, trace_id text, test boolean, created_at text, failures integer, retry boolean,
  version text, url text, enabled boolean, generation integer, secret bytea, previous_secret bytea,
  policy text, workspace_policy text, policy_version text, slug text, request text, request_secrets bytea
);

-- Reads what requests need, just before they are sent.
-- Parameters: `known`, a hash of the endpoint's columns that the worker has; if it still fits, these columns are null.
-- Returns: one row for each delivery, with its position from 1. Payloads of more than 64 KiB are null. Left out: deliveries that are
-- gone or recorded, and those of another endpoint than named: any role can send a notification with wrong names.
-- Looks up by primary key alone: another plan, made while the queue was empty, would take 10 ms a row. Called by: Loads.
create function posthorn.load(workspaces text[], deliveries text[], endpoints text[], attempts smallint[], known bigint[])
returns setof posthorn.loaded
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return query
    select w.index::integer, d.event_type, case when octet_length(d.payload) <= 65536 then d.payload end, d.trace_id,
      d.test, case when e.request is not null then posthorn.rfc3339(d.happened_at) end,
      e.consecutive_failures, d.retry, e.version::text, n.url, n.enabled, n.generation, n.secret, n.previous_secret, n.policy::text,
      n.workspace_policy::text, posthorn.policy_version(n.policy, n.workspace_policy)::text, n.slug, n.request::text,
      n.request_secrets
    from unnest(workspaces, deliveries, endpoints, attempts, known) with ordinality
      as w(workspace_id, delivery_id, endpoint_id, attempts, known, index)
    cross join lateral (
      select d.workspace_id, d.endpoint_id, d.event_type, d.trace_id, d.event_id is null as test,
        coalesce(v.created_at, d.created_at) as happened_at, coalesce(d.payload, v.payload) as payload,
        v.retry is not false or d.replayed_from is not null or d.replay_id is not null as retry
      from posthorn.deliveries d left join lateral (
        select e.payload, e.retry, e.created_at from posthorn.events e
        where e.workspace_id = d.workspace_id and e.id = d.event_id offset 0
      ) v on true
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

create function posthorn.was_visible(version xid, moment pg_snapshot) returns boolean language sql stable
  return moment is null or (
    select pg_visible_in_snapshot((latest - ((latest - version::text::bigint) & 4294967295))::text::xid8, moment)
    from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as now(latest)
  );

-- Stores how often deliveries were claimed: before one is sent that a dead worker may have sent, or after a claim that brought no
-- observation.
-- Parameters: `counts`, the new totals, so that a call can be repeated; `sending`, whether requests go out or may have gone out.
-- Returns: `counted`; `given_up` at the limit, as a dead letter; `blocked` by a locked row. Left out: deliveries that are gone or
-- recorded. Locks: queue rows, and deliveries that are given up; skips locked ones. Called by: Queue.countClaims.
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
      -- The first of two claims is only assumed: the dead owner's. That worker cannot have seen a row committed after the takeover;
      -- such a row has one claim.
      case when w.count = 2 and sending
        and not (select posthorn.was_visible(q.xmin, s.in_doubt_snapshot) from posthorn.shards s where s.shard = q.shard)
        then 1 else w.count end as count
    from asked w
    join posthorn.queue q
      on q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id and q.attempts = w.attempts
    order by q.workspace_id, q.delivery_id for update of q skip locked
  ), poison as materialized (
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

-- The owner of each shard. If `owner` is still set at a takeover, that worker died, froze or lost its connection. It may have sent
-- rows that were due by `in_doubt_until` and visible in `in_doubt_snapshot`. `began`: the owner may have started attempts under a
-- rate limit. `stopped_at`: until when earlier owners may have started such attempts.
create table posthorn.shards (
  shard smallint primary key,
  owner text,
  in_doubt_until bigint,
  in_doubt_snapshot pg_snapshot,
  began boolean not null default false,
  stopped_at bigint
) with (fillfactor = 50);
insert into posthorn.shards (shard) select generate_series(0, posthorn.shard_count() - 1);

-- How long a former owner may still start attempts after a takeover: the lease timeout, and the error of its clock.
-- Called by: take_shard, clear_doubt, starts_since, next_start.
create function posthorn.outlives_its_lease() returns interval language sql immutable parallel safe
  return interval '4.5 seconds';

create function posthorn.life_class() returns integer language sql immutable parallel safe
  return 7067005;

create function posthorn.life_lock(owner text) returns integer language sql immutable parallel safe
  return pg_catalog.hashtext(owner) & 2147483647;

-- Holds the owner's life lock until the session ends. Called by: SleepLocks.showLife.
create function posthorn.show_life(owner text) returns boolean language sql set search_path = pg_catalog, pg_temp as $$
  select pg_try_advisory_lock_shared(posthorn.life_class(), posthorn.life_lock(owner))
$$;

-- True if the session of the owner's listener is open: an owner that has lost the session of its shards is then frozen or cut off,
-- not dead. Called by: take_shard.
create function posthorn.owner_lives(owner text) returns boolean language sql set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.classid = posthorn.life_class() and l.objsubid = 2
      and l.objid = posthorn.life_lock(owner)::oid
      and l.database = (select oid from pg_database where datname = current_database())
  )
$$;

-- Makes a worker a shard's owner. Returns until when the shard's rows are in doubt; null after a release. Called by: ShardLocks.
create function posthorn.take_shard(wanted smallint, new_owner text) returns bigint language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.shards
  set in_doubt_until = case when owner = new_owner then in_doubt_until when owner is not null then posthorn.micros(clock_timestamp()) end,
      in_doubt_snapshot = case when owner = new_owner then in_doubt_snapshot when owner is not null then pg_current_snapshot() end,
      stopped_at = case when owner = new_owner then stopped_at
        when posthorn.owner_lives(owner) then posthorn.micros(clock_timestamp() + posthorn.outlives_its_lease())
        when owner is not null and began then posthorn.micros(clock_timestamp())
        when owner is not null then stopped_at end,
      began = began and owner is not distinct from new_owner,
      owner = new_owner
  where shard = wanted
  returning in_doubt_until
$$;

-- Ends the doubt in shards of the owner once no row is left that was due by the takeover. Returns, and locks, these shards.
-- Called by: ShardLocks.
create function posthorn.clear_doubt(shards smallint[], present_owner text) returns setof smallint language sql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  update posthorn.shards s set in_doubt_until = null, in_doubt_snapshot = null, stopped_at = null
  where s.shard = any (shards) and s.owner = present_owner
    and posthorn.from_micros(s.in_doubt_until) + posthorn.outlives_its_lease() <= clock_timestamp()
    and not exists (
    select from posthorn.queue q where q.shard = s.shard and q.due_at <= posthorn.from_micros(s.in_doubt_until)
  )
  returning s.shard
$$;

-- Releases a shard with nothing in flight. Locks: the shard. Called by: ShardLocks.
create function posthorn.release_shard(given smallint, last_owner text) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.shards set owner = null where shard = given and owner = last_owner
$$;

-- Lists when attempts of endpoints with a rate limit started, at earlier owners too.
-- Parameters: `requests` in `windows` seconds; `most_unrecorded`, the most starts that a dead owner can have left unrecorded.
-- Returns: ages in milliseconds, the last start first, within the window and two seconds of error. Starts that an earlier owner may
-- have made are stored, dated `stopped_at`. While that owner may still live, `stopped_at` is in the future and the age is negative.
-- If a start is more than `outlives_its_lease` in the future, a clock was set back, and the age is 0. Locks: the shards, to note that
-- their owner starts attempts. Called by: Queue.
create function posthorn.starts_since(
  workspaces text[], endpoints text[], requests integer[], windows integer[], most_unrecorded integer[]
) returns table (index integer, ages double precision[])
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  update posthorn.shards set began = true
  where shard = any (select posthorn.shard_of(e) from unnest(endpoints) as w(e)) and not began;
  insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
  select w.workspace_id, w.endpoint_id, s.stopped_at, 'unrecorded ' || n
  from unnest(workspaces, endpoints, requests, windows, most_unrecorded) as w(workspace_id, endpoint_id, requests, seconds, most)
  cross join lateral (
    select posthorn.from_micros(s.stopped_at) as stopped_at from posthorn.shards s
    where s.shard = posthorn.shard_of(w.endpoint_id) and s.stopped_at is not null
  ) s
  cross join lateral (
    select count(*) as rows from (
      select from posthorn.queue q
      where q.workspace_id = w.workspace_id and q.endpoint_id = w.endpoint_id and q.due_at <= s.stopped_at
      order by q.due_at, q.delivery_id limit w.most
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
      select case when b.at <= clock_timestamp() + posthorn.outlives_its_lease()
        then (extract(epoch from clock_timestamp() - b.at) * 1000)::double precision else 0 end
      from posthorn.attempt_starts b
      where b.workspace_id = w.workspace_id and b.endpoint_id = w.endpoint_id
        and b.at > clock_timestamp() - (w.seconds + 2) * interval '1 second'
      order by b.at desc, b.id desc limit w.requests
    )
    from unnest(workspaces, endpoints, requests, windows) with ordinality as w(workspace_id, endpoint_id, requests, seconds, index);
end $$;

-- The endpoint's own rate limit if its policy has this member (null: no limit); else the workspace's. Called by: next_start,
-- EvidenceRepo.
create function posthorn.rate_of(own jsonb, inherited jsonb) returns jsonb language sql immutable parallel safe
  return nullif(case when own ? 'rateLimit' then own -> 'rateLimit' else inherited -> 'rateLimit' end, 'null');

-- When the rate limit allows the endpoint's next attempt, according to recorded starts. Null without a limit. Null also if that was
-- longer than `tolerance` ago: then the endpoint waits for something else. Called by: DeliveriesRepo, EvidenceRepo,
-- QueueGauges.
create function posthorn.next_start(workspace text, endpoint text, tolerance interval default '10 seconds') returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return (
    select least(b.at, clock_timestamp() + posthorn.outlives_its_lease()) + rate.width
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

-- Deletes starts that no rate limit counts, and returns how many. Finds the endpoints through the primary key: an index on `at`
-- would make each attempt cost more. Called by: Retention.
create function posthorn.forget_starts() returns integer language sql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  with recursive known as (
    (select b.workspace_id, b.endpoint_id from posthorn.attempt_starts b order by 1, 2 limit 1)
    union all
    select n.workspace_id, n.endpoint_id from known k cross join lateral (
      select b.workspace_id, b.endpoint_id from posthorn.attempt_starts b
      where (b.workspace_id, b.endpoint_id) > (k.workspace_id, k.endpoint_id) order by 1, 2 limit 1
    ) n
  ), gone as (
    delete from posthorn.attempt_starts b using known k
    where b.workspace_id = k.workspace_id and b.endpoint_id = k.endpoint_id and b.at < now() - interval '61 minutes' returning 1
  )
  select count(*)::integer from gone
$$;

-- Notifies workers of work without a due time.
create function posthorn.tell_workers() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', '');
  return null;
end $$;

-- Notifies workers of an endpoint's new settings and its streak: its circuit has the next trial at once.
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

-- A lane that waits for its rate limit loads nothing, so it learns of a new policy only by this notification.
create function posthorn.tell_policy() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', 'policy ' || new.id);
  return null;
end $$;

create trigger workspaces_policy after update of policy on posthorn.workspaces
  for each row when (new.policy is distinct from old.policy) execute function posthorn.tell_policy();

-- Notifies workers that they can use an endpoint: they keep nothing of one that is disabled, or whose secrets or profile they cannot
-- read.
create function posthorn.tell_usable() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', 'usable ' || new.workspace_id || ' ' || new.id || ' ' || posthorn.shard_of(new.id));
  return null;
end $$;

create trigger endpoints_usable after update of enabled, secret, previous_secret, request, request_secrets on posthorn.endpoints
  for each row when (new.enabled and (not old.enabled or (new.secret, new.previous_secret, new.request, new.request_secrets)
    is distinct from (old.secret, old.previous_secret, old.request, old.request_secrets)))
  execute function posthorn.tell_usable();
