-- The one way an event enters: posthorn.publish, called by REST, by MCP, and by anybody's own transaction.
--
-- One transaction holds the event, one pending delivery and one queue row for each enabled endpoint that matches, and a
-- missed-event row for each disabled one. Commit means delivered at least once; rollback means never.
-- Refusals carry a SQLSTATE of their own: PH400 (not valid; the hint names the member), PH404 (no such workspace),
-- PH409 (idempotency key used for another event), PH413 (more deliveries than `most_deliveries`; null is no limit).

-- How many shards the queue has. Changing it moves rows between workers; it must then be changed in the queue too.
create function posthorn.shard_count() returns integer language sql immutable parallel safe
  return 32;

create function posthorn.shard_of(endpoint_id text) returns smallint language sql immutable parallel safe
  return ((hashtextextended(endpoint_id, 0) % posthorn.shard_count() + posthorn.shard_count())
    % posthorn.shard_count())::smallint;

-- Every pattern that matches the type: itself, `*`, and `prefix.*` for each shorter prefix. In plpgsql, which calls nothing
-- but expressions here: 3 us instead of the 12 of a query.
create function posthorn.patterns_of(event_type text) returns text[] language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp as $$
declare
  patterns text[] := array[event_type, '*'];
  prefix text := event_type;
begin
  while strpos(prefix, '.') > 0 loop
    prefix := left(prefix, -strpos(reverse(prefix), '.'));
    patterns := patterns || (prefix || '.*');
  end loop;
  return patterns;
end $$;

-- JSON text without insignificant white space: strings are kept, runs of white space outside them dropped.
create function posthorn.compact_json(payload text) returns text language sql immutable parallel safe
  return regexp_replace(payload, '("(?:[^"\\]|\\.)*")|[ \t\n\r]+', '\1', 'g');

-- Whether JSON text nests deeper than the limit. Most payloads have too few brackets to need a closer look.
create function posthorn.nests_deeper(payload text, depth integer) returns boolean language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp as $$
declare
  brackets text;
begin
  if length(payload) - length(translate(payload, '[{', '')) <= depth then return false; end if;
  brackets := regexp_replace(payload, '"(?:[^"\\]|\\.)*"', '', 'g');
  brackets := translate(regexp_replace(brackets, '[^][{}]+', '', 'g'), '{}', '[]');
  for level in 1..depth loop
    if brackets = '' then return false; end if;
    brackets := replace(brackets, '[]', '');
  end loop;
  return brackets <> '';
end $$;

-- As `newTraceId` of `@posthorn/domain/TraceId` makes them: 13 hex digits of microseconds since 1970, the rest random.
create function posthorn.new_trace_id() returns text language sql volatile parallel safe
  return lpad(to_hex((date_part('epoch', clock_timestamp()) * 1000000)::bigint), 13, '0')
    || substr(replace(gen_random_uuid()::text, '-', ''), 14);

create type posthorn.published as (id text, event_type text, delivery_ids text[], duplicate boolean);

-- Refuses what would make too many deliveries.
create function posthorn.check_fan_out(planned numeric, most integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if planned > most then
    raise exception 'This would make % deliveries, and one call may make %', planned, most using errcode = 'PH413';
  end if;
end $$;

-- Store the events and fan them out; no checks, so for Posthorn's own events too. `except_endpoint` is left out.
create function posthorn.fan_out(
  workspace posthorn.id, event_ids text[], event_types text[], payloads text[], trace text, except_endpoint text,
  most_deliveries integer default null
) returns table (event_id text, delivery_ids text[])
language plpgsql set search_path = pg_catalog, posthorn, pg_temp as $$
#variable_conflict use_column
declare
  moment constant timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  return query
  with input as materialized (
    select * from unnest(event_ids, event_types, payloads) with ordinality as i(event_id, event_type, payload, n)
  ), wanted as materialized (
    -- Looked up once for each type, however many events of it there are.
    select distinct t.event_type, s.endpoint_id
    from (select distinct event_type from input) t
    cross join lateral unnest(posthorn.patterns_of(t.event_type)) as p(pattern)
    join posthorn.subscriptions s on s.workspace_id = workspace and s.pattern = p.pattern
    where s.endpoint_id is distinct from except_endpoint
  ), open_endpoints as materialized (
    -- Locked as the foreign key would: an endpoint deleted meanwhile drops out here and fails nobody's transaction.
    select e.id, e.enabled from posthorn.endpoints e
    where e.workspace_id = workspace and e.id in (select endpoint_id from wanted)
    order by e.id for key share
  ), allowed as materialized (
    -- Counted before anything is made: refusing 120,000 deliveries must not cost what making them does.
    select posthorn.check_fan_out(sum(e.endpoints * i.events), most_deliveries)
    from (select event_type, count(*) as events from input group by 1) i
    join (select w.event_type, count(*) as endpoints from wanted w join open_endpoints e on e.id = w.endpoint_id
          where e.enabled group by 1) e using (event_type)
    where most_deliveries is not null
  ), fanned as materialized (
    select i.*, e.id as endpoint_id, e.enabled, posthorn.new_id('whd_') as delivery_id
    from (select count(*) from allowed) as checked, wanted w
    join input i using (event_type) join open_endpoints e on e.id = w.endpoint_id
    order by i.n, e.id
  ), counted as materialized (
    select n, array_agg(delivery_id order by delivery_id) filter (where enabled) as delivery_ids,
      count(*) filter (where enabled) as delivered, count(*) filter (where not enabled) as missed
    from fanned group by n
  ), stored as (
    insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, created_at)
    select workspace, event_id, event_type, payload, trace, coalesce(c.delivered, 0), coalesce(c.missed, 0), moment
    from input left join counted c using (n)
  ), delivered as (
    insert into posthorn.deliveries
      (workspace_id, id, endpoint_id, event_id, event_type, payload, trace_id, next_attempt_at, created_at)
    select workspace, delivery_id, endpoint_id, event_id, event_type, payload, trace, moment, moment
    from fanned where enabled
  ), queued as (
    insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
    select workspace, delivery_id, endpoint_id, posthorn.shard_of(endpoint_id), moment from fanned where enabled
  ), missed as (
    insert into posthorn.missed_events (workspace_id, endpoint_id, event_id, created_at)
    select workspace, endpoint_id, event_id, moment from fanned where not enabled
  ), woken as (
    -- Since when there is more to do: a worker that has read past this moment, because this transaction took its time,
    -- goes back to it. Only when there is something: a notification makes commits wait for each other.
    select pg_notify('posthorn_due', (extract(epoch from moment) * 1000000)::bigint::text)
    where exists (select from fanned where enabled)
  )
  select i.event_id, coalesce(c.delivery_ids, '{}')
  from (select count(*) from woken) as told, input i left join counted c using (n)
  order by i.n;
end $$;

-- Publish events, all or nothing, answers in the order given. `idempotency_keys` holds null where there is no key.
create function posthorn.publish_events(
  workspace_slug text, event_types text[], payloads json[], idempotency_keys text[], trace_id text default null,
  most_deliveries integer default null
) returns setof posthorn.published
language plpgsql security definer set search_path = pg_catalog, posthorn, pg_temp as $$
#variable_conflict use_variable
declare
  workspace posthorn.id;
  trace constant text := coalesce(trace_id, posthorn.new_trace_id());
  moment constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  total constant integer := coalesce(cardinality(event_types), 0);
  ids text[] := array(select posthorn.new_id('evt_') from generate_series(1, total));
  fresh integer[] := '{}';
  answers text[];
  held posthorn.idempotency_keys;
  keyed integer;
  print bytea;
  one record;
  answer posthorn.published;
begin
  select w.id into workspace from posthorn.workspaces w where w.slug = workspace_slug for key share;
  if workspace is null then
    raise exception 'No workspace has the slug %', workspace_slug using errcode = 'PH404';
  end if;
  -- It travels in a header of every request to a receiver.
  if trace !~ '^[0-9a-f]{32}$' then
    raise exception 'Expected a trace id of 32 hex digits, or none' using errcode = 'PH400', hint = '/traceId';
  end if;
  -- By rows, here and below: looking into an array of text by its place costs more the longer the array is.
  for one in
    select e.*, k.key from unnest(event_types, payloads) with ordinality as e(event_type, payload, place)
    left join unnest(idempotency_keys) with ordinality as k(key, place) using (place) order by place
  loop
    perform posthorn.check_event(one.event_type, one.payload::text, one.key);
    if one.key is null then fresh := fresh || one.place::integer; end if;
  end loop;
  -- Keys are taken in one order by everybody, so that two batches with the same keys cannot wait for each other in a ring.
  for keyed in
    select k.place from unnest(idempotency_keys) with ordinality as k(key, place)
    where k.key is not null and k.place <= total order by k.key collate "C", k.place
  loop
    print := sha256(convert_to(event_types[keyed] || E'\n' || posthorn.compact_json(payloads[keyed]::text), 'UTF8'));
    -- A key in use waits here for the transaction that holds it; one older than a day is free again.
    insert into posthorn.idempotency_keys as k (workspace_id, key, fingerprint, event_id, created_at)
      values (workspace, idempotency_keys[keyed], print, ids[keyed], moment)
      on conflict (workspace_id, key) do update
        set fingerprint = excluded.fingerprint, event_id = excluded.event_id, created_at = excluded.created_at,
            delivery_ids = '{}'
        where k.created_at <= moment - interval '24 hours';
    if found then
      fresh := fresh || keyed;
      continue;
    end if;
    select * into held from posthorn.idempotency_keys k
      where k.workspace_id = workspace and k.key = idempotency_keys[keyed];
    if held.fingerprint <> print then
      raise exception 'The idempotency key was used for another event' using errcode = 'PH409';
    end if;
    ids[keyed] := held.event_id;
  end loop;

  answers := array_fill(null::text, array[total]);
  if cardinality(fresh) > 0 then
    fresh := array(select f from unnest(fresh) as f order by f);
    for one in
      select f.place, a.delivery_ids
      from posthorn.fan_out(workspace, array(select id from unnest(ids) with ordinality as i(id, n) where n = any (fresh) order by n),
        array(select event_type from unnest(event_types) with ordinality as i(event_type, n) where n = any (fresh) order by n),
        array(select payload::text from unnest(payloads) with ordinality as i(payload, n) where n = any (fresh) order by n),
        trace, null, most_deliveries) with ordinality as a(event_id, delivery_ids, n)
      join unnest(fresh) with ordinality as f(place, n) using (n)
    loop
      answers[one.place] := one.delivery_ids::text;
    end loop;
  end if;

  for one in
    select i.*, k.key from unnest(ids, event_types, answers) with ordinality as i(id, event_type, delivery_ids, place)
    left join unnest(idempotency_keys) with ordinality as k(key, place) using (place) order by place
  loop
    answer.id := one.id;
    answer.event_type := one.event_type;
    answer.duplicate := one.delivery_ids is null;
    if one.delivery_ids is not null then
      answer.delivery_ids := one.delivery_ids::text[];
      if one.key is not null then
        update posthorn.idempotency_keys k set delivery_ids = answer.delivery_ids
          where k.workspace_id = workspace and k.key = one.key;
      end if;
    else
      select k.delivery_ids into answer.delivery_ids from posthorn.idempotency_keys k
        where k.workspace_id = workspace and k.key = one.key;
    end if;
    return next answer;
  end loop;
end $$;

-- What an event must look like. REST checks the same before it gets here; SQL callers meet it here.
create function posthorn.check_event(event_type text, payload text, idempotency_key text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if event_type is null or length(event_type) > 128 or event_type !~ '^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$' then
    raise exception 'Expected an event type of dotted words such as invoice.paid, at most 128 characters'
      using errcode = 'PH400', hint = '/eventType';
  elsif event_type ~ '^(webhook|member|api_token)\.' then
    raise exception 'The prefixes webhook., member. and api_token. are reserved for events of Posthorn itself'
      using errcode = 'PH400', hint = '/eventType';
  elsif payload is null then
    raise exception 'Expected a JSON value; for no value, publish the JSON null'
      using errcode = 'PH400', hint = '/payload';
  elsif posthorn.nests_deeper(payload, 100) then
    raise exception 'The payload may nest at most 100 levels deep' using errcode = 'PH400', hint = '/payload';
  elsif octet_length(payload) > 1048576 then
    raise exception 'The payload may have at most 1048576 bytes' using errcode = 'PH400', hint = '/payload';
  elsif length(idempotency_key) not between 1 and 255 then
    raise exception 'An idempotency key has 1 to 255 characters' using errcode = 'PH400', hint = '/idempotencyKey';
  end if;
end $$;

-- Publish one event. Call it in the transaction that makes the event true:
--   select * from posthorn.publish('acme', 'invoice.paid', '{"id": 7}', 'invoice-7-paid');
create function posthorn.publish(
  workspace_slug text, event_type text, payload json, idempotency_key text default null, trace_id text default null
) returns posthorn.published
language sql security definer set search_path = pg_catalog, posthorn, pg_temp as $$
  select posthorn.publish_events(workspace_slug, array[event_type], array[payload], array[idempotency_key], trace_id)
$$;

-- The same for a caller who has few connections: what another transaction holds, such as a key that it published with, is
-- waited for no longer than this; then the call fails with 55P03 and has done nothing, so that it can be made again.
create function posthorn.try_publish_events(
  workspace_slug text, event_types text[], payloads json[], idempotency_keys text[], trace_id text,
  most_deliveries integer
) returns setof posthorn.published
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
begin
  return query select * from posthorn.publish_events(workspace_slug, event_types, payloads, idempotency_keys, trace_id,
    most_deliveries);
end $$;

revoke all on function posthorn.publish, posthorn.publish_events, posthorn.fan_out, posthorn.try_publish_events from public;
