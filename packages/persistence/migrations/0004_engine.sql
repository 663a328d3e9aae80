-- What the delivery worker reads, and the little it writes besides `record`. Functions, so that their plans are made
-- once per connection. Taking work up writes nothing: one worker owns a shard, and remembers what it holds.

-- Times cross to the worker as microseconds since 1970: exact, and plain to compare. Declared stable, as the functions they
-- use are: PostgreSQL then writes them into the statement instead of calling them, 1 us a row.
create function posthorn.micros(moment timestamptz) returns bigint language sql stable parallel safe as $$
  select (extract(epoch from moment) * 1000000)::bigint
$$;

create function posthorn.from_micros(micros bigint) returns timestamptz language sql stable parallel safe as $$
  select timestamptz 'epoch' + micros * interval '1 microsecond'
$$;

create type posthorn.waiting as (
  workspace_id text, delivery_id text, endpoint_id text, shard smallint, due bigint, attempts smallint, take_ups smallint
);

-- What has become due in these shards past each one's watermark, oldest first, at most `per_shard` of each; `skip` are
-- endpoints whose rows the caller does not want now. The first row holds only `due`: the time up to which was looked.
create function posthorn.due(
  shards smallint[], past_due bigint[], past_ids text[], skip text[], per_shard integer
) returns setof posthorn.waiting
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return query
    select null::text, null::text, null::text, null::smallint, posthorn.micros(now()), null::smallint, null::smallint;
  return query
    select q.workspace_id::text, q.delivery_id::text, q.endpoint_id::text, q.shard, posthorn.micros(q.due_at),
      q.attempts, q.take_ups
    from unnest(shards, past_due, past_ids) as w(shard, due, id)
    cross join lateral (
      select * from posthorn.queue q
      where q.shard = w.shard and (q.due_at, q.delivery_id) > (posthorn.from_micros(w.due), w.id)
        and q.due_at <= now() and q.endpoint_id <> all (skip)
      order by q.due_at, q.delivery_id limit per_shard
    ) q;
end $$;

-- When the next row becomes due.
create function posthorn.next_due(shards smallint[]) returns bigint
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (
    select posthorn.micros(min(q.due_at)) from unnest(shards) as w(shard)
    cross join lateral (
      select due_at from posthorn.queue q where q.shard = w.shard and q.due_at > now() order by q.due_at limit 1
    ) q
  );
end $$;

-- The same for single endpoints, from the oldest: refills lanes that could not be held in memory whole.
create function posthorn.due_of(workspaces text[], endpoints text[], per_endpoint integer[])
returns setof posthorn.waiting
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return query
    select q.workspace_id::text, q.delivery_id::text, q.endpoint_id::text, q.shard, posthorn.micros(q.due_at),
      q.attempts, q.take_ups
    from unnest(workspaces, endpoints, per_endpoint) as w(workspace_id, endpoint_id, wanted)
    cross join lateral (
      select * from posthorn.queue q
      where q.workspace_id = w.workspace_id and q.endpoint_id = w.endpoint_id and q.due_at <= now()
      order by q.due_at, q.delivery_id limit w.wanted
    ) q;
end $$;

create type posthorn.loaded as (
  workspace_id text, delivery_id text, attempts smallint, event_type text, payload text, trace_id text, url text,
  enabled boolean, generation integer, secret bytea, previous_secret bytea
);

-- All that a post needs, read at dispatch. A delivery that is gone, or was recorded meanwhile, is left out.
--
-- Row by row through the primary keys, whatever the statistics say: the lateral steps fix the order, because the queue is
-- mostly empty when PostgreSQL counts it, and a plan made for an empty table takes 10 ms per row when it is full.
create function posthorn.load(workspaces text[], deliveries text[], attempts smallint[])
returns setof posthorn.loaded
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return query
    select d.workspace_id::text, d.id::text, w.attempts, d.event_type, d.payload, d.trace_id, e.url, e.enabled,
      e.generation, e.secret, case when e.previous_secret_expires_at > now() then e.previous_secret end
    from unnest(workspaces, deliveries, attempts) as w(workspace_id, delivery_id, attempts)
    cross join lateral (
      select * from posthorn.deliveries d
      where d.workspace_id = w.workspace_id and d.id = w.delivery_id and d.attempts = w.attempts
        and d.status in ('pending', 'failed') offset 0
    ) d
    cross join lateral (
      select * from posthorn.endpoints e
      where e.workspace_id = d.workspace_id and e.id = d.endpoint_id offset 0
    ) e;
end $$;

-- Counts a take-up of deliveries that a dead worker may have held (`assumed` 1: it took them up once), or that ended
-- without an observation (`assumed` 0). At the limit a delivery goes to the dead-letter queue instead; those are not
-- returned, like those that are gone.
create function posthorn.take_up(workspaces text[], deliveries text[], assumed integer, take_up_limit integer)
returns table (delivery_id text, take_ups smallint)
language plpgsql set search_path = pg_catalog, posthorn, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set lock_timeout = '500ms' as $$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select q.workspace_id, q.delivery_id, q.take_ups from posthorn.queue q
    join unnest(workspaces, deliveries) as w(workspace_id, delivery_id)
      on q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id
    order by q.workspace_id, q.delivery_id for update of q
  ), poison as (
    insert into posthorn.dead_letters (workspace_id, delivery_id)
    select workspace_id, delivery_id from wanted where take_ups >= take_up_limit on conflict do nothing
  ), gone as (
    delete from posthorn.queue q using wanted w
    where w.take_ups >= take_up_limit and q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id
  )
  update posthorn.queue q set take_ups = greatest(w.take_ups, assumed) + 1 from wanted w
  where w.take_ups < take_up_limit and q.workspace_id = w.workspace_id and q.delivery_id = w.delivery_id
  returning q.delivery_id::text, q.take_ups;
end $$;

-- Who has each shard, and whether its last owner gave it back. `owner` is still set when a worker takes a shard over:
-- then that worker died, froze or lost its connection, and may have been sending what was due by then.
create table posthorn.shards (
  shard smallint primary key,
  owner text
) with (fillfactor = 50);
insert into posthorn.shards (shard) select generate_series(0, posthorn.shard_count() - 1);

-- The last owner's due horizon when it was not given back cleanly, else null.
create function posthorn.take_shard(wanted smallint, new_owner text) returns bigint
language plpgsql as $$
declare
  clean boolean;
begin
  select owner is null into clean from posthorn.shards where shard = wanted for update;
  update posthorn.shards set owner = new_owner where shard = wanted;
  return case when clean then null else posthorn.micros(clock_timestamp()) end;
end $$;

create function posthorn.give_back_shard(given smallint, last_owner text) returns void language sql as $$
  update posthorn.shards set owner = null where shard = given and owner = last_owner
$$;

-- Waiting deliveries of an endpoint go on at once when it is enabled again, whoever did it.
create function posthorn.tell_enabled() returns trigger language plpgsql as $$
begin
  perform pg_notify('posthorn_due', '');
  return null;
end $$;

create trigger endpoints_enabled after update of enabled on posthorn.endpoints
  for each row when (new.enabled and not old.enabled) execute function posthorn.tell_enabled();

-- The primary keys of deliveries and queue are made again, so that they are their tables' newest indexes: among indexes
-- that cost the same by the statistics PostgreSQL takes the newest, and while it holds a table to be empty, all do. With
-- another one, looking up a row by its key reads all rows of the workspace.
alter table posthorn.attempts drop constraint attempts_workspace_id_delivery_id_fkey;
alter table posthorn.dead_letters drop constraint dead_letters_workspace_id_delivery_id_fkey;
alter table posthorn.queue drop constraint queue_workspace_id_delivery_id_fkey;
alter table posthorn.queue drop constraint queue_pkey;
alter table posthorn.deliveries drop constraint deliveries_pkey;
alter table posthorn.deliveries add primary key (workspace_id, id);
alter table posthorn.queue add primary key (workspace_id, delivery_id);
alter table posthorn.queue
  add foreign key (workspace_id, delivery_id) references posthorn.deliveries on delete cascade;
alter table posthorn.attempts
  add foreign key (workspace_id, delivery_id) references posthorn.deliveries on delete cascade;
alter table posthorn.dead_letters
  add foreign key (workspace_id, delivery_id) references posthorn.deliveries on delete cascade;
