-- What the delivery worker reads, and the little it writes besides `record`. Functions, so that each connection plans them once.
--
-- How work is found. A claim writes nothing: a shard's owner remembers in memory what it has read.
--   cursor   a poll reads each shard past (due time, delivery) of the last row that it read (`due`)
--   lock     a publisher holds a shared lock on its shards; each poll returns the transactions that do (`open_publishers`)
--   rewind   while such a transaction is young, and once after it ended, the next poll starts before it published
--   sweep    every 30 s the first row of each endpoint is looked for in memory, which finds whatever polls missed
--   id       a row whose delivery is in memory is not taken again, however often it is read
--   ordinal  a delivery that two owners send is recorded once: `record` takes the next attempt's ordinal only

-- Moments go to the worker as microseconds since 1970, exact in a double. Stable, so that PostgreSQL inlines them: 1 us a row.
create function posthorn.micros(moment timestamptz) returns bigint language sql stable parallel safe
  return (date_part('epoch', moment) * 1000000)::bigint;

create function posthorn.from_micros(micros bigint) returns timestamptz language sql stable parallel safe
  return timestamptz 'epoch' + micros * interval '1 microsecond';

-- Waiting rows of one endpoint with equal attempts and claims, by due time. Ids and due times are lists: a row for each delivery costs
-- the worker 2 us more. `at_once` rows are sent although the lane's circuit is open.
create type posthorn.waiting as (
  workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean,
  delivery_ids text, dues text
);

-- The transactions that have published to these shards and may still commit, as "transaction shard,…".
-- Locks: none. Called by: due.
create function posthorn.open_publishers(shards smallint[]) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce((
    select string_agg(l.virtualtransaction || ' ' || l.objid, ',') from pg_locks l
    where l.locktype = 'advisory' and l.classid = posthorn.sleep_lock_class() and l.objsubid = 2 and l.mode = 'ShareLock'
      and l.objid = any (shards::oid[]) and l.database = (select oid from pg_database where datname = current_database())
  ), '');
end $$;

-- Reads the rows that became due past each shard's cursor, oldest first, at most `per_shard` of a shard.
-- Parameters: of the endpoints in `skip`, only rows that are `at_once`; then at most `scan_limit` rows of a shard are scanned.
-- Returns: runs of rows in the order in which they are found; for a shard whose end was not reached, a row without an endpoint, with
--   the last row that was read; and one row without a shard: `dues` is the time of the read, `delivery_ids` the open publishers.
-- Locks: none. Open publishers are listed before the rows are read, so a row that this read misses is of one of them, or due later.
-- Called by: Polls.ts.
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
    -- Without `skip`, `per_shard` ends the scan first.
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

-- Returns when the next row of these shards becomes due, or null. Locks: none. Called by: Queue.nextDue.
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

-- Reads the due rows of single endpoints, each from the given row on, to refill lanes. Locks: none. Called by: Queue.dueOfEndpoints.
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

-- Reads the first row of each endpoint after the given one, by key: one index step an endpoint, however many rows it has.
-- Returns: also rows that are not due yet, because they tell where the next call continues. Locks: none. Called by: Sweep.ts.
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

-- Reads everything that requests need, just before they are sent.
-- Parameters: `known` is the version of the endpoint that the worker has, a hash of its columns.
-- Returns: by position in the arrays, from 1; endpoints of the known version without their columns. Left out: deliveries that are gone
--   or recorded, and those of another endpoint than the one named, because any role can notify and so name a delivery.
-- Locks: none. Each row is looked up by primary key: a plan that was made while the queue was empty takes 10 ms a row.
-- Called by: Loads.ts.
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

-- Whether this version of a row was visible at that moment; true if the moment is null. Called by: claim.
create function posthorn.was_visible(version xid, moment pg_snapshot) returns boolean language sql stable
  return moment is null or (
    select pg_visible_in_snapshot((latest - ((latest - version::text::bigint) & 4294967295))::text::xid8, moment)
    from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as now(latest)
  );

-- Stores claims of deliveries: before they are sent if a dead worker may have been sending them (`sending`), or after a claim ended
-- without an observation.
-- Parameters: `counts` has the new totals, so repeating a call whose answer was lost counts nothing twice.
-- Returns: counted; given_up for one at the limit, which goes to the dead-letter queue; blocked for a row that another transaction has
--   locked. Deliveries that are gone or recorded are left out.
-- Locks: queue rows, and deliveries of those given up; it waits for none. Called by: Queue.countClaims.
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
      -- One of two claims is assumed of the dead owner, who cannot have seen rows that were committed after the takeover.
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

-- The owner of each shard. If it is still set when another worker takes the shard, the owner died, froze or lost its connection: it
-- may have been sending rows that were due (`in_doubt_until`) and committed (`in_doubt_snapshot`) by then. `began`: this owner may have
-- started attempts under a rate limit. `stopped_at`: earlier owners may have started some until then that are not recorded.
create table posthorn.shards (
  shard smallint primary key,
  owner text,
  in_doubt_until bigint,
  in_doubt_snapshot pg_snapshot,
  began boolean not null default false,
  stopped_at bigint
) with (fillfactor = 50);
insert into posthorn.shards (shard) select generate_series(0, posthorn.shard_count() - 1);

-- How long an owner may start attempts after its shard was taken over: the lease timeout of a worker that lost only its lock
-- connection, and the error of its clock. Called by: take_shard, clear_doubt, starts_since.
create function posthorn.outlives_its_lease() returns interval language sql immutable parallel safe
  return interval '4.5 seconds';

create function posthorn.life_class() returns integer language sql immutable parallel safe
  return 7067005;

create function posthorn.life_lock(owner text) returns integer language sql immutable parallel safe
  return pg_catalog.hashtext(owner) & 2147483647;

-- Holds the owner's life lock until the session ends. Locks: it. Called by: Listener.
create function posthorn.show_life(owner text) returns boolean language sql set search_path = pg_catalog, pg_temp as $$
  select pg_try_advisory_lock_shared(posthorn.life_class(), posthorn.life_lock(owner))
$$;

-- Whether an owner that lost the session of its shards still has its listener's: it froze, or was cut off, and may go on. A process that
-- died has neither. Locks: none. Called by: take_shard.
create function posthorn.owner_lives(owner text) returns boolean language sql set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.classid = posthorn.life_class() and l.objsubid = 2
      and l.objid = posthorn.life_lock(owner)::oid
      and l.database = (select oid from pg_database where datname = current_database())
  )
$$;

-- Makes a worker the owner of a shard. Returns the moment up to which its rows are in doubt, or null if the last owner released it; a
-- worker that takes its own shard again gets the same answer. Locks: the shard. Called by: ShardLocks.take.
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

-- Ends the doubt in those of the owner's shards in which no row waits that was due by the takeover, once the last owner starts nothing
-- any more. Returns these shards. Locks: them. Called by: ShardLocks.clearDoubt.
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

-- Notes that the owner has released a shard with nothing in flight. Locks: the shard. Called by: ShardLocks.release.
create function posthorn.release_shard(given smallint, last_owner text) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  update posthorn.shards set owner = null where shard = given and owner = last_owner
$$;

-- Lists when attempts of endpoints with a rate limit started, at earlier owners too.
-- Parameters: the limits (`requests` in `windows` seconds), and the most starts of each that a dead owner may not have recorded.
-- Returns: ages in milliseconds, the last start first, within the window and the two seconds by which a recorded time may be off.
-- Starts that earlier owners of the shard may have made are added at the moment at which these have stopped (so their age may be below
-- 0): as many as rows were due by then, as the limit allowed, and as may be unrecorded. They are stored for later owners. A lower age
-- means that the database's clock was set back, and counts as 0.
-- Locks: the shards, to note that their owner starts attempts. Called by: Queue.startsSince.
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

-- The rate limit in force: an endpoint's own, also if that is null, or its workspace's. Called by: next_start.
create function posthorn.rate_of(own jsonb, inherited jsonb) returns jsonb language sql immutable parallel safe
  return nullif(case when own ? 'rateLimit' then own -> 'rateLimit' else inherited -> 'rateLimit' end, 'null');

-- When the next attempt of an endpoint may start by its rate limit, as far as attempts are recorded. Null without a limit, and when an
-- attempt could have started for `tolerance` and did not: then the endpoint waits for something else. Locks: none.
-- Called by: DeliveriesRepo, EvidenceRepo, Installation.
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

-- Deletes starts that no rate limit counts any more, and returns how many. Skips from endpoint to endpoint in the key: another
-- index, on `at`, would be written for each attempt, and PostgreSQL 15 takes it for `starts_since`. Called by: Retention.
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

-- Notifies workers of work without a due time: an endpoint was enabled, or a replay job was started.
create function posthorn.tell_workers() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', '');
  return null;
end $$;

-- Notifies workers that an endpoint was enabled, or that its URL, request or policy changed: the next trial of its circuit is due at
-- once, after this streak.
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

-- Notifies workers that a workspace's policy changed: lanes that wait for a permit load nothing, and would not learn of it.
create function posthorn.tell_policy() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('posthorn_due', 'policy ' || new.id);
  return null;
end $$;

create trigger workspaces_policy after update of policy on posthorn.workspaces
  for each row when (new.policy is distinct from old.policy) execute function posthorn.tell_policy();

create trigger endpoints_enabled after update of enabled on posthorn.endpoints
  for each row when (new.enabled and not old.enabled) execute function posthorn.tell_workers();
