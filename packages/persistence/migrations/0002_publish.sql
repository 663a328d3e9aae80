-- The one way an event enters: publish functions for REST, for MCP and for applications' own transactions.
--
-- One transaction holds the event, a pending delivery and a queue row for each enabled endpoint that matches, and a missed
-- event for each disabled one. An endpoint matches by its patterns and its filter (0012_filters.sql). Where the publish names
-- endpoints, these get the event whatever they subscribe to.
-- Refusals have a SQLSTATE: PH400 not valid (the hint names the member) · PH404 no such workspace · PH409 idempotency key of
-- another event · PH413 more than `most_deliveries` (null: no limit) · PH429 quota used up (the hint names it).
--
--   publish              one event                   raises refusals
--   publish_events       events of one workspace     raises; all or nothing
--   publish_each         events of any workspaces    an outcome for each
--   try_publish_all, try_publish_each                for REST and MCP: the same, failing with 55P03 instead of waiting

-- When it changes, `shard` of all rows in the queue must change too.
create function posthorn.shard_count() returns integer language sql immutable parallel safe
  return 32;

create function posthorn.shard_of(endpoint_id text) returns smallint language sql immutable parallel safe
  return ((hashtextextended(endpoint_id, 0) % posthorn.shard_count() + posthorn.shard_count())
    % posthorn.shard_count())::smallint;

-- `event_type`, `*`, and `prefix.*` for each shorter prefix. Expressions only: 3 us instead of 12 for a query.
create function posthorn.patterns_of_long(event_type text) returns text[] language plpgsql immutable parallel safe
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

-- The patterns that match the type. Most types have one or two words; inlining these saves 3 % of a lone publish.
create function posthorn.patterns_of(event_type text) returns text[] language sql immutable parallel safe
  return case
    when strpos(event_type, '.') = 0 then array[event_type, '*']
    when split_part(event_type, '.', 3) = '' then array[event_type, '*', split_part(event_type, '.', 1) || '.*']
    else posthorn.patterns_of_long(event_type) end;

create function posthorn.compact_json(payload text) returns text language sql immutable parallel safe
  return regexp_replace(payload, '("(?:[^"\\]|\\.)*")|[ \t\n\r]+', '\1', 'g');

-- Counts brackets, also in strings: a cheap test before nests_deeper. Inlined; `replace` is four times faster than `translate`.
create function posthorn.may_nest_deeper(payload text, depth integer) returns boolean language sql immutable parallel safe
  return octet_length(payload) - octet_length(replace(replace(payload, '[', ''), '{', '')) > depth;

create function posthorn.nests_deeper(payload text, depth integer) returns boolean language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp as $$
declare
  brackets text;
begin
  brackets := regexp_replace(payload, '"(?:[^"\\]|\\.)*"', '', 'g');
  brackets := translate(regexp_replace(brackets, '[^][{}]+', '', 'g'), '{}', '[]');
  for level in 1..depth loop
    if brackets = '' then return false; end if;
    brackets := replace(brackets, '[]', '');
  end loop;
  return brackets <> '';
end $$;

create function posthorn.new_trace_id() returns text language sql volatile parallel safe
  return lpad(to_hex((date_part('epoch', clock_timestamp()) * 1000000)::bigint), 13, '0')
    || substr(replace(gen_random_uuid()::text, '-', ''), 14);

create type posthorn.refusal as (code text, message text, hint text);

-- Why the event is invalid, or null. REST checks the same before. Inlining saves 4 % of a lone publish.
create function posthorn.refusal_of(event_type text, payload text, idempotency_key text, trace_id text)
returns posthorn.refusal language sql immutable parallel safe
  return case
    when event_type is null or length(event_type) > 128 or event_type !~ '^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$'
      then row('PH400', 'Expected an event type of dotted words such as invoice.paid, at most 128 characters', '/eventType')::posthorn.refusal
    when event_type ~ '^(webhook|member|api_token)\.'
      then row('PH400', 'The prefixes webhook., member. and api_token. are reserved for events of Posthorn itself', '/eventType')::posthorn.refusal
    when payload is null
      then row('PH400', 'Expected a JSON value; for no value, publish the JSON null', '/payload')::posthorn.refusal
    when posthorn.may_nest_deeper(payload, 100) and posthorn.nests_deeper(payload, 100)
      then row('PH400', 'The payload may nest at most 100 levels deep', '/payload')::posthorn.refusal
    when octet_length(payload) > 1048576
      then row('PH400', 'The payload may have at most 1048576 bytes', '/payload')::posthorn.refusal
    when length(idempotency_key) not between 1 and 255
      then row('PH400', 'An idempotency key has 1 to 255 characters', '/idempotencyKey')::posthorn.refusal
    -- Each request to a receiver has the trace id in a header.
    when trace_id !~ '^[0-9a-f]{32}$'
      then row('PH400', 'Expected a trace id of 32 hex digits, or none', '/traceId')::posthorn.refusal
  end;

-- The types of operational events (0013_operations.sql), reserved in the system workspace.
create function posthorn.is_operational(event_type text) returns boolean language sql immutable parallel safe
  return event_type in ('endpoint.created', 'endpoint.updated', 'endpoint.deleted', 'endpoint.failing', 'endpoint.disabled',
    'endpoint.recovered', 'delivery.dead_lettered', 'replay.finished', 'payload.deviated');

-- What happened in a workspace: the type of an operational event, and its facts.
create type posthorn.happening as (workspace_id text, kind text, facts jsonb, trace_id text);

-- Why an operational event is invalid in a workspace, or null.
create function posthorn.refusal_in(workspace text) returns posthorn.refusal language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  if workspace is distinct from posthorn.system_workspace() then return null; end if;
  return row('PH400', 'This type is reserved for operational events of Posthorn itself in this workspace', '/eventType')::posthorn.refusal;
end $$;

-- Why a list of named endpoints is invalid, or null.
create function posthorn.refusal_of_named(named json) returns posthorn.refusal language sql immutable strict parallel safe
  return case when case when json_typeof(named) = 'array'
        then (select count(*) not between 1 and 100 or count(*) > count(distinct id) from json_array_elements_text(named) id)
        else true end
    then row('PH400', 'Expected the ids of 1 to 100 endpoints, each once', '/endpointIds')::posthorn.refusal end;

-- A function of its own: within the plan of `posthorn.plan` the query costs each call 10 us, also without names.
create function posthorn.ids_in(named json) returns text[] language sql immutable strict parallel safe
  return array(select json_array_elements_text(named));

-- What one event will create. A refused event and a duplicate create nothing. `endpoint_ids` get the deliveries, `named_ids` are those
-- that the publish named, or null.
create type posthorn.planned as (
  index integer, workspace_id text, id text, event_type text, payload text, trace_id text, key text,
  endpoint_ids text[], delivery_ids text[], missed_ids text[], duplicate boolean, refusal posthorn.refusal, actor text,
  named_ids text[], retry boolean, unfilterable boolean
);

-- The id comes last: names of roles may contain spaces.
create function posthorn.actor_text(type text, id text, via text) returns text language sql immutable parallel safe
  return type || ' ' || via || ' ' || id;

create function posthorn.actor_json(actor text) returns json language sql immutable parallel safe
  return json_build_object('type', split_part(actor, ' ', 1),
    'id', substr(actor, length(split_part(actor, ' ', 1)) + length(split_part(actor, ' ', 2)) + 3),
    'via', split_part(actor, ' ', 2));

-- Advisory locks of this class, one for each shard, tell publishers whether the shard's worker sleeps.
create function posthorn.sleep_lock_class() returns integer language sql immutable parallel safe
  return 7067003;

create function posthorn.try_share_sleep_lock(shard smallint) returns boolean language sql volatile
  return pg_try_advisory_xact_lock_shared(posthorn.sleep_lock_class(), shard);

-- Each shard once: a notification has at most 8,000 bytes.
create function posthorn.notify_sleepers(shards smallint[]) returns void language sql volatile
  return pg_notify('posthorn_due', (extract(epoch from date_trunc('milliseconds', clock_timestamp())) * 1000000)::bigint
    || ' ' || (select string_agg(distinct shard::text, ',') from unnest(shards) shard));

-- To be called before due times are written in these shards. The shared lock, kept until the transaction ends, shows an awake
-- worker that rows may still appear. A sleeping worker holds the lock exclusively, and is notified. A busy worker is not notified,
-- because PostgreSQL commits notifying transactions one at a time.
create function posthorn.notify_if_asleep(shards smallint[]) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  one smallint;
  asleep smallint[];
begin
  foreach one in array shards loop
    if not posthorn.try_share_sleep_lock(one) then asleep := asleep || one; end if;
  end loop;
  if asleep is not null then perform posthorn.notify_sleepers(asleep); end if;
end $$;

-- Who gets an event: endpoints by id, and the shards (`asleep`) whose worker must be notified. `wanted`: the event type, or the JSON
-- list of named endpoints. `unknown`: the position of the first named endpoint that does not exist. `weight`: what the heaviest
-- filter weighs, null if none has one; otherwise `posthorn.sift` sets `unjudged`. No row: the workspace is gone.
create type posthorn.audience as (
  workspace_id text, wanted text, enabled text[], disabled text[], asleep smallint[], used_up text, unknown integer, weight integer,
  unjudged text
);

-- Locks the endpoints as a foreign key would, so neither they nor the workspace can be deleted before the caller commits.
-- `stable` although it locks: only then does PostgreSQL inline it. Without inlining a call raises an error.
-- A plan made while there are few subscriptions must not scan the table once there are many: 20 kinds of events took 66 s with
-- 20,000 subscriptions. So callers turn `enable_seqscan` and `enable_sort` off, and only the primary key has the order that is
-- asked for here.
create function posthorn.matching_endpoints(workspace text, event_type text, except_endpoint text) returns setof posthorn.audience
language sql stable rows 1
begin atomic
  select w.id, event_type, a.enabled, a.disabled, a.asleep, w.used_up, null::integer, a.weight, null::text
  from posthorn.workspaces w cross join lateral (
    select array_agg(e.id) filter (where e.enabled) as enabled, array_agg(e.id) filter (where not e.enabled) as disabled,
      array_agg(e.shard) filter (where e.enabled and not posthorn.try_share_sleep_lock(e.shard)) as asleep, max(e.filter_weight) as weight
    from (
      select distinct s.endpoint_id as id
      from unnest(posthorn.patterns_of(event_type)) as p(pattern) cross join lateral (
        select s.endpoint_id from posthorn.subscriptions s
        where s.workspace_id = w.id and s.pattern between p.pattern and p.pattern
        order by s.pattern, s.endpoint_id
      ) s
      where s.endpoint_id is distinct from except_endpoint
      order by 1
    ) s cross join lateral (
      select e.id, e.enabled, e.filter_weight, posthorn.shard_of(e.id) as shard from posthorn.endpoints e
      where e.workspace_id = w.id and e.id = s.id for key share
    ) e
  ) a
  where w.id = workspace;
end;

-- The same for endpoints that the publish names.
create function posthorn.named_endpoints(workspace text, named json) returns setof posthorn.audience
language sql stable rows 1
begin atomic
  select w.id, named::text, a.enabled, a.disabled, a.asleep, w.used_up, a.unknown, null::integer, null::text
  from posthorn.workspaces w cross join lateral (
    select array_agg(e.id) filter (where e.enabled) as enabled, array_agg(e.id) filter (where not e.enabled) as disabled,
      array_agg(e.shard) filter (where e.enabled and not posthorn.try_share_sleep_lock(e.shard)) as asleep,
      min(n.place) filter (where e.id is null)::integer as unknown
    from (
      select n.id collate "C" as id, n.place from json_array_elements_text(named) with ordinality as n(id, place) order by 1
    ) n left join lateral (
      select e.id, e.enabled, posthorn.shard_of(e.id) as shard from posthorn.endpoints e
      where e.workspace_id = w.id and e.id = n.id for key share
    ) e on true
  ) a
  where w.id = workspace;
end;

-- The generic plan is forced: otherwise each call would plan anew, which takes 0.3 ms. The rest of a call takes 0.1 ms.
create function posthorn.audience_of(workspace text, event_type text, except_endpoint text, named json default null)
returns posthorn.audience
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  audience posthorn.audience;
begin
  if named is null then
    select * into audience from posthorn.matching_endpoints(workspace, event_type, except_endpoint);
  else
    select * into audience from posthorn.named_endpoints(workspace, named);
  end if;
  return audience;
end $$;

create function posthorn.too_many(planned bigint, most integer) returns posthorn.refusal language sql immutable parallel safe
  return row('PH413', format('This would make %s deliveries, and one call may make %s', planned, most), null)::posthorn.refusal;

create function posthorn.quota_exceeded(quota text) returns posthorn.refusal language sql immutable parallel safe
  return row('PH429', case quota
    when 'waiting' then 'As many deliveries of this workspace wait as may wait: publish again once some are made'
    else 'This workspace keeps as many bytes of payloads as it may keep' end, quota)::posthorn.refusal;

create function posthorn.endpoint_unknown(place integer) returns posthorn.refusal language sql immutable parallel safe
  return row('PH400', 'No endpoint of this workspace has this id', '/endpointIds/' || place - 1)::posthorn.refusal;

create function posthorn.workspace_gone() returns posthorn.refusal language sql immutable parallel safe
  return row('PH404', 'The workspace was deleted meanwhile', null)::posthorn.refusal;

-- Locks workspaces as a foreign key would, and refuses events of those that are gone.
create function posthorn.hold_workspaces(plan posthorn.planned[], workspaces text[]) returns posthorn.planned[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  found text[] := array(select w.id from posthorn.workspaces w where w.id = any (workspaces) order by w.id for key share);
begin
  if workspaces <@ found then return plan; end if;
  return array(
    select case when p.workspace_id = any (workspaces) and p.workspace_id <> all (found)
        then row(p.index, null, p.id, p.event_type, p.payload, p.trace_id, p.key, null, null, null, false,
          posthorn.workspace_gone(), null, null, null, null)::posthorn.planned
        else p end
    from unnest(plan) p order by p.index
  );
end $$;

-- What each event will create. An event that is refused for what its publish says locks no endpoint and notifies no worker. Any number of events takes two statements, and a third where endpoints are named. Their plan is generic, because a custom
-- plan would be made for each call.
create function posthorn.plan(
  workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[],
  most_deliveries integer, actors text[], endpoint_ids json[], retries boolean[], shared boolean
) returns posthorn.planned[] language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  plan posthorn.planned[];
  unwanted text[] := '{}';
  one posthorn.audience;
  audiences posthorn.audience[];
  faults posthorn.refusal[];
  began bigint;
begin
  with given as materialized (
    select g.index, g.workspace, g.event_type, i.named, coalesce(
        posthorn.refusal_of(g.event_type, i.payload, g.key, g.trace_id), posthorn.refusal_of_named(i.named),
        case when posthorn.is_operational(g.event_type) then posthorn.refusal_in(g.workspace) end) as fault
    from unnest(workspaces, event_types, payloads, idempotency_keys, trace_ids)
      with ordinality as g(workspace, event_type, payload, key, trace_id, index)
    cross join lateral (select g.payload::text as payload, endpoint_ids[g.index] as named offset 0) i
  )
  select array(select g.fault from given g order by g.index), array(
    select a from (select distinct g.workspace, g.event_type from given g where (g.fault).code is null and g.named is null) k
    cross join lateral posthorn.matching_endpoints(k.workspace, k.event_type, null) a
  ) into faults, audiences;
  if num_nonnulls(variadic endpoint_ids) > 0 then
    audiences := audiences || array(
      select a from (
        select distinct g.workspace, g.named::text as named
        from unnest(workspaces, endpoint_ids, faults) as g(workspace, named, code, message, hint)
        where g.code is null and g.named is not null
      ) k cross join lateral posthorn.named_endpoints(k.workspace, k.named::json) a
    );
  end if;
  foreach one in array audiences loop
    if one.asleep is not null then perform posthorn.notify_sleepers(one.asleep); end if;
    if one.enabled is null and one.disabled is null then unwanted := unwanted || one.workspace_id; end if;
  end loop;
  -- Ids sort in the given order. They are made after the endpoints are locked: counting a finished hour must see every
  -- transaction that may still add to it.
  began := date_part('epoch', clock_timestamp()) * 1000000;
  plan := array(
    select row(g.index, a.workspace_id, i.id, g.event_type, g.payload::text, coalesce(g.trace_id, posthorn.own_trace(i.id)),
      g.key, f.enabled,
      case when (r.refusal).code is null then array(select posthorn.id_of('whd_', began + g.index) from unnest(f.enabled)) end,
      f.disabled, false, r.refusal, g.actor,
      case when g.code is null then posthorn.ids_in(i.named) end, retries[g.index],
      case when f.unjudged = 'unfilterable' then true end)::posthorn.planned
    from unnest(workspaces, event_types, payloads, idempotency_keys, trace_ids, actors, faults)
      with ordinality as g(workspace, event_type, payload, key, trace_id, actor, code, message, hint, index)
    cross join lateral (select posthorn.id_of('evt_', began + g.index) as id, endpoint_ids[g.index] as named offset 0) i
    left join unnest(audiences) a on a.workspace_id = g.workspace and a.wanted = coalesce(i.named::text, g.event_type)
    cross join lateral (
      select case when a.weight is not null and g.code is null then posthorn.sift(a, g.payload::text, shared) end as audience offset 0
    ) s
    cross join lateral (
      select case when a.weight is null then a.enabled else (s.audience).enabled end as enabled,
        case when a.weight is null then a.disabled else (s.audience).disabled end as disabled, (s.audience).unjudged as unjudged offset 0
    ) f
    cross join lateral (
      select case
        when g.code is not null then row(g.code, g.message, g.hint)::posthorn.refusal
        when a.workspace_id is null then posthorn.workspace_gone()
        when a.unknown is not null then posthorn.endpoint_unknown(a.unknown)
        when f.unjudged = 'apart' then row('55P03', 'Judging its filters would hold up other events', null)::posthorn.refusal
        when a.used_up = 'bytes' or (a.used_up = 'waiting' and f.enabled is not null) then posthorn.quota_exceeded(a.used_up)
        when cardinality(f.enabled) > most_deliveries then posthorn.too_many(cardinality(f.enabled), most_deliveries)
      end as refusal offset 0
    ) r
    where g.index <= cardinality(event_types) order by g.index
  );
  if cardinality(unwanted) > 0 then plan := posthorn.hold_workspaces(plan, unwanted); end if;
  return plan;
end $$;

create function posthorn.store_planned(plan posthorn.planned[], moment timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  one posthorn.planned;
  delivered boolean := false;
  missed boolean := false;
begin
  if cardinality(plan) = 0 then return; end if;
  foreach one in array plan loop
    delivered := delivered or coalesce(cardinality(one.delivery_ids), 0) > 0;
    missed := missed or one.missed_ids is not null;
  end loop;
  insert into posthorn.events
    (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, endpoint_ids, retry, unfilterable,
      created_at)
  select p.workspace_id, p.id, p.event_type, p.payload, p.trace_id, coalesce(cardinality(p.delivery_ids), 0),
    coalesce(cardinality(p.missed_ids), 0), p.actor, p.named_ids, p.retry is not false, p.unfilterable,
    posthorn.made_at(p.id)
  from unnest(plan) p;
  if delivered then
    insert into posthorn.deliveries
      (workspace_id, id, endpoint_id, event_id, event_type, trace_id, next_attempt_at, created_at)
    select p.workspace_id, d.id, d.endpoint_id, p.id, p.event_type, p.trace_id, moment, posthorn.made_at(d.id)
    from unnest(plan) p cross join lateral unnest(p.delivery_ids, p.endpoint_ids) as d(id, endpoint_id);
    insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
    select p.workspace_id, d.id, d.endpoint_id, posthorn.shard_of(d.endpoint_id), moment
    from unnest(plan) p cross join lateral unnest(p.delivery_ids, p.endpoint_ids) as d(id, endpoint_id);
  end if;
  if missed then
    insert into posthorn.missed_events (workspace_id, endpoint_id, event_id, created_at)
    select p.workspace_id, m.endpoint_id, p.id, posthorn.made_at(p.id)
    from unnest(plan) p cross join lateral unnest(p.missed_ids) as m(endpoint_id);
  end if;
end $$;

create function posthorn.announce(
  workspace text, event_type text, payload text, trace_id text, except_endpoint text, actor text
) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  audience posthorn.audience := posthorn.audience_of(workspace, event_type, except_endpoint);
  began constant bigint := date_part('epoch', clock_timestamp()) * 1000000;
begin
  if audience.asleep is not null then perform posthorn.notify_sleepers(audience.asleep); end if;
  -- Otherwise 500 endpoints with `*` that are disabled together make 63,408 deliveries.
  if event_type = 'webhook.endpoint_disabled' then
    select array_agg(e.id order by e.id) filter (where e.id = any (audience.enabled)),
      array_agg(e.id order by e.id) filter (where e.id = any (audience.disabled))
    into audience.enabled, audience.disabled
    from posthorn.endpoints e
    where e.workspace_id = workspace and e.consecutive_failures = 0
      and e.id = any (audience.enabled || audience.disabled);
  end if;
  if audience.weight is not null then audience := posthorn.sift(audience, payload, false); end if;
  perform posthorn.store_planned(array[row(1, workspace, posthorn.id_of('evt_', began), event_type, payload, trace_id, null,
    audience.enabled, (select array_agg(posthorn.id_of('whd_', began)) from unnest(audience.enabled)), audience.disabled,
    false, null, actor, null, null, audience.unjudged is not null or null)::posthorn.planned], date_trunc('milliseconds', clock_timestamp()));
end $$;

-- Named endpoints compare as a set.
create function posthorn.choices_text(named_ids text[], retry boolean) returns text language sql immutable parallel safe
  return E'\n' || coalesce((select string_agg(id, ' ' order by id collate "C") from unnest(named_ids) id), '') || E'\n' || (retry is not false);

-- Neither `compact_json` nor an event type has line breaks. An event without choices has the fingerprint of its type and payload.
create function posthorn.fingerprint(event_type text, payload text, named_ids text[], retry boolean) returns bytea
language sql immutable parallel safe
  return sha256(convert_to(event_type || E'\n' || posthorn.compact_json(payload)
    || case when named_ids is null and retry is not false then '' else posthorn.choices_text(named_ids, retry) end, 'UTF8'));

-- Takes each key once, and waits for keys of open transactions. All callers take keys in one order, so they cannot deadlock.
create function posthorn.take_keys(plan posthorn.planned[], moment timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into posthorn.idempotency_keys as k (workspace_id, key, fingerprint, event_id, delivery_ids, created_at)
  select distinct on (p.workspace_id, p.key collate "C") p.workspace_id, p.key,
    posthorn.fingerprint(p.event_type, p.payload, p.named_ids, p.retry), p.id, coalesce(p.delivery_ids, '{}'), moment
  from unnest(plan) p where p.key is not null and (p.refusal).code is null
  order by p.workspace_id, p.key collate "C", p.index
  on conflict (workspace_id, key) do update
    set fingerprint = excluded.fingerprint, event_id = excluded.event_id, delivery_ids = excluded.delivery_ids,
        created_at = excluded.created_at
    where k.created_at <= moment - interval '24 hours';
end $$;

-- Makes events whose key is taken duplicates or refusals. Unless `patient`, waits for a key at most `lock_timeout`, then
-- refuses its event with 55P03.
create function posthorn.apply_keys(plan posthorn.planned[], moment timestamptz, patient boolean) returns posthorn.planned[]
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  one posthorn.planned;
  held integer[] := '{}';
begin
  if patient then
    perform posthorn.take_keys(plan, moment);
  else
    begin
      perform posthorn.take_keys(plan, moment);
    exception when lock_not_available then
      perform set_config('lock_timeout', '1ms', true);
      for one in
        select p.* from unnest(plan) p where p.key is not null and (p.refusal).code is null
        order by p.workspace_id, p.key collate "C", p.index
      loop
        begin
          perform posthorn.take_keys(array[one], moment);
        exception when lock_not_available then
          held := held || one.index;
        end;
      end loop;
    end;
  end if;
  return array(
    select row(p.index, p.workspace_id, coalesce(k.event_id, p.id), p.event_type, p.payload, p.trace_id, p.key, p.endpoint_ids,
      case when k.event_id <> p.id then k.delivery_ids else p.delivery_ids end, p.missed_ids,
      coalesce(k.event_id <> p.id, false),
      case
        -- An event's own new key is not compared: the fingerprint of 1 MiB takes as long as everything else.
        when k.event_id <> p.id and k.fingerprint <> posthorn.fingerprint(p.event_type, p.payload, p.named_ids, p.retry)
          then row('PH409', 'The idempotency key was used for another event', '/idempotencyKey')::posthorn.refusal
        when k.event_id is not null then null
        when p.index = any (held)
          then row('55P03', 'Another transaction is still publishing with this idempotency key', null)::posthorn.refusal
        else p.refusal
      end, p.actor, p.named_ids, p.retry, p.unfilterable)::posthorn.planned
    from unnest(plan) p
    left join lateral (
      select k.event_id, k.fingerprint, k.delivery_ids from posthorn.idempotency_keys k
      where k.workspace_id = p.workspace_id and k.key = p.key and k.created_at > moment - interval '24 hours'
        -- A duplicate makes no deliveries, so no limit refuses it, nor does an endpoint that was deleted since.
        and (coalesce((p.refusal).code, 'PH413') in ('PH413', 'PH429') or (p.refusal).hint ^@ '/endpointIds/') offset 0
    ) k on true
    order by p.index
  );
end $$;

create function posthorn.publish_planned(
  workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[],
  most_deliveries integer, patient boolean, actors text[], endpoint_ids json[], retries boolean[]
) returns posthorn.planned[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  plan posthorn.planned[] := posthorn.plan(workspaces, event_types, payloads, idempotency_keys, trace_ids, most_deliveries,
    actors, endpoint_ids, retries, not patient and cardinality(event_types) > 1);
  -- After `plan` has notified the workers, because they read what is due from the time of the notification on.
  moment constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  one posthorn.planned;
  fit boolean := true;
begin
  if num_nonnulls(variadic idempotency_keys) > 0 then plan := posthorn.apply_keys(plan, moment, patient); end if;
  foreach one in array plan loop
    fit := fit and (one.refusal).code is null and not one.duplicate;
  end loop;
  if fit then
    perform posthorn.store_planned(plan, moment);
  else
    perform posthorn.store_planned(array(select p from unnest(plan) p where (p.refusal).code is null and not p.duplicate), moment);
  end if;
  return plan;
end $$;

create type posthorn.published as (id text, event_type text, delivery_ids text[], duplicate boolean);

-- Publishes one event without a key or choices. Null, and nothing stored, if the event is refused or over a limit: publish_planned then finds
-- the reason. For few endpoints, single statements take half as long as store_planned. A notification that names its delivery saves
-- the worker a poll.
create function posthorn.publish_one(
  workspace text, event_type text, payload text, trace_id text, most_deliveries integer, actor text
) returns posthorn.published language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  audience posthorn.audience;
  began bigint;
  moment timestamptz;
  event text;
  endpoint text;
  delivery text;
  shard smallint;
  ids text[] := '{}';
begin
  if not (posthorn.refusal_of(event_type, payload, null, trace_id) is null) or posthorn.is_operational(event_type) then return null; end if;
  audience := posthorn.audience_of(workspace, event_type, null);
  if audience.weight is not null then audience := posthorn.sift(audience, payload, false); end if;
  if audience.used_up is not null then return null; end if;
  if audience.enabled is null or cardinality(audience.enabled) > most_deliveries then
    if audience.enabled is not null then return null; end if;
    perform from posthorn.workspaces w where w.id = audience.workspace_id for key share;
    if not found then return null; end if;
  end if;
  began := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  moment := to_timestamp((began / 1000)::float8 / 1000);
  event := posthorn.id_of('evt_', began);
  trace_id := coalesce(trace_id, posthorn.own_trace(event));
  if coalesce(cardinality(audience.enabled), 4) > 3 or audience.disabled is not null or audience.unjudged is not null then
    if audience.asleep is not null then perform posthorn.notify_sleepers(audience.asleep); end if;
    ids := array(select posthorn.id_of('whd_', began) from unnest(audience.enabled));
    perform posthorn.store_planned(array[row(1, audience.workspace_id, event, event_type, payload, trace_id, null, audience.enabled, ids,
      audience.disabled, false, null, actor, null, null, audience.unjudged is not null or null)::posthorn.planned], moment);
  else
    insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, created_at)
    values (audience.workspace_id, event, event_type, payload, trace_id, cardinality(audience.enabled), 0, actor, moment);
    foreach endpoint in array audience.enabled loop
      delivery := posthorn.id_of('whd_', began);
      shard := posthorn.shard_of(endpoint);
      insert into posthorn.deliveries
        (workspace_id, id, endpoint_id, event_id, event_type, trace_id, next_attempt_at, created_at)
      values (audience.workspace_id, delivery, endpoint, event, event_type, trace_id, moment, moment);
      insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
      values (audience.workspace_id, delivery, endpoint, shard, moment);
      if shard = any (audience.asleep) then
        perform pg_notify('posthorn_due', concat_ws(' ', began / 1000 * 1000, shard, audience.workspace_id, endpoint, delivery));
      end if;
      ids := ids || delivery;
    end loop;
  end if;
  return row(event, event_type, ids, false)::posthorn.published;
end $$;

create type posthorn.outcome as (
  index integer, id text, event_type text, delivery_ids text[], duplicate boolean, code text, message text, hint text
);

-- Publishes independent events of any workspaces. Returns for each its position from 1 on, and `code`: null, or the SQLSTATE of
-- a refusal that left nothing behind. `patient`: see apply_keys. After an exception, retry the events one by one.
create function posthorn.publish_each(
  workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[],
  most_deliveries integer, actors text[], patient boolean default true, endpoint_ids json[] default null,
  retries boolean[] default null
) returns setof posthorn.outcome
language plpgsql security definer set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  one posthorn.published;
begin
  if cardinality(event_types) = 1 and coalesce(num_nonnulls(variadic idempotency_keys), 0) = 0
    and endpoint_ids[1] is null and retries[1] is not false
  then
    one := posthorn.publish_one(workspaces[1], event_types[1], payloads[1]::text, trace_ids[1], most_deliveries,
      actors[1]);
    if one is not null then
      return next row(1, one.id, one.event_type, one.delivery_ids, false, null, null, null)::posthorn.outcome;
      return;
    end if;
  end if;
  return query
    select p.index, p.id, p.event_type, case when (p.refusal).code is null then coalesce(p.delivery_ids, '{}') else '{}' end,
      p.duplicate, (p.refusal).code, (p.refusal).message, (p.refusal).hint
    from unnest(posthorn.publish_planned(workspaces, event_types, payloads, idempotency_keys, trace_ids, most_deliveries,
      patient, actors, endpoint_ids, retries)) p;
end $$;

-- Refuses a batch before making its deliveries. Events with known keys are not counted. Filters are judged only for a batch that would
-- be refused without them.
create function posthorn.check_fan_out(
  workspace text, event_types text[], payloads json[], idempotency_keys text[], most_deliveries integer, endpoint_ids json[]
) returns void language plpgsql set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  planned bigint;
  refusal posthorn.refusal;
begin
  with given as materialized (
    select i.event_type, i.named::text as named, i.payload
    from unnest(event_types, payloads, idempotency_keys, endpoint_ids) as i(event_type, payload, key, named)
    where posthorn.refusal_of_named(i.named) is null and not exists (
      select from posthorn.idempotency_keys k
      where k.workspace_id = workspace and k.key = i.key and k.created_at > clock_timestamp() - interval '24 hours')
  ), kinds as materialized (
    select k.event_type, k.named, k.events * cardinality(a.enabled) as most, a.weight, a as audience
    from (select g.event_type, g.named, count(*) as events from given g group by 1, 2) k
    cross join lateral posthorn.audience_of(workspace, k.event_type, null, k.named::json) a
  )
  select case when sum(k.most) <= most_deliveries or count(k.weight) = 0 then sum(k.most) else (
      select sum(cardinality((case when k.weight is null then k.audience
        else posthorn.sift(k.audience, g.payload::text, false) end).enabled))
      from given g join kinds k on k.event_type = g.event_type and k.named is not distinct from g.named) end
  into planned from kinds k;
  if planned > most_deliveries then
    refusal := posthorn.too_many(planned, most_deliveries);
    raise exception '%', refusal.message using errcode = refusal.code;
  end if;
end $$;

-- `place`: a pointer to the event in its batch, such as `/3`, put before the pointer to a member.
create function posthorn.published_or_raise(one posthorn.planned, place text) returns posthorn.published language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if (one.refusal).hint is not null then
    raise exception '%', (one.refusal).message using errcode = (one.refusal).code,
      hint = case when (one.refusal).hint ^@ '/' then place else '' end || (one.refusal).hint;
  elsif (one.refusal).code is not null then
    raise exception '%', (one.refusal).message using errcode = (one.refusal).code;
  end if;
  return row(one.id, one.event_type, coalesce(one.delivery_ids, '{}'), one.duplicate)::posthorn.published;
end $$;

create function posthorn.publish_all(
  workspace text, event_types text[], payloads json[], idempotency_keys text[], trace_id text, most_deliveries integer,
  actor text, endpoint_ids json[], retries boolean[]
) returns setof posthorn.published
language plpgsql security definer set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  total constant integer := coalesce(cardinality(event_types), 0);
  one posthorn.planned;
begin
  if most_deliveries is not null then
    perform posthorn.check_fan_out(workspace, event_types, payloads, idempotency_keys, most_deliveries, endpoint_ids);
  end if;
  foreach one in array posthorn.publish_planned(array_fill(workspace, array[total]), event_types, payloads, idempotency_keys,
    array_fill(coalesce(trace_id, posthorn.new_trace_id()), array[total]), null, true, array_fill(actor, array[total]),
    endpoint_ids, retries)
  loop
    return next posthorn.published_or_raise(one, '/' || one.index - 1);
  end loop;
end $$;

create function posthorn.workspace_of(workspace_slug text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  found_id constant text := (select w.id from posthorn.workspaces w where w.slug = workspace_slug);
begin
  if found_id is null then
    raise exception 'No workspace has the slug %', coalesce(workspace_slug, '') using errcode = 'PH404';
  end if;
  return found_id;
end $$;

create function posthorn.sql_actor() returns text language sql stable
  return posthorn.actor_text('system', session_user, 'sql');

create function posthorn.publish_events(
  workspace_slug text, event_types text[], payloads json[], idempotency_keys text[], trace_id text default null,
  most_deliveries integer default null, endpoint_ids json[] default null, retries boolean[] default null
) returns setof posthorn.published
language plpgsql security definer set search_path = pg_catalog, posthorn, pg_temp as $$
begin
  return query select * from posthorn.publish_all(posthorn.workspace_of(workspace_slug), event_types, payloads,
    idempotency_keys, trace_id, most_deliveries, posthorn.sql_actor(), endpoint_ids, retries);
end $$;

-- Publishes one event, in the transaction that makes the event true:
--   select * from posthorn.publish('acme', 'invoice.paid', '{"id": 7}', 'invoice-7-paid');
create function posthorn.publish(
  workspace_slug text, event_type text, payload json, idempotency_key text default null, trace_id text default null,
  endpoint_ids text[] default null, retry boolean default true
) returns posthorn.published
language plpgsql security definer set search_path = pg_catalog, posthorn, pg_temp as $$
declare
  -- Repeats workspace_of's query: a call would take as long again.
  workspace constant text := coalesce(
    (select w.id from posthorn.workspaces w where w.slug = workspace_slug), posthorn.workspace_of(workspace_slug));
  one posthorn.published;
begin
  if idempotency_key is null and endpoint_ids is null and retry is not false then
    one := posthorn.publish_one(workspace, event_type, payload::text, trace_id, null, posthorn.sql_actor());
    if one is not null then return one; end if;
  end if;
  return posthorn.published_or_raise((posthorn.publish_planned(array[workspace], array[event_type], array[payload], array[idempotency_key],
    array[trace_id], null, true, array[posthorn.sql_actor()], array[to_json(endpoint_ids)], array[retry]))[1], '');
end $$;

-- Whether a payload has this value at `path`, the parts of a JSON Pointer. Numbers are equal by value. False for a payload with
-- the escape \u0000.
create function posthorn.stands_at(payload json, path text[], kind text, value text) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  place integer;
begin
  -- PostgreSQL takes `01`, `+1` and `-1` for positions in an array; a pointer does not. Each such part parses the payload
  -- again.
  for place in select i from unnest(path) with ordinality as parts(part, i)
    where part ~ '^\s*[+-]?[0-9]+$' and part !~ '^(0|[1-9][0-9]*)$'
  loop
    if json_typeof(payload #> path[:place - 1]) is distinct from 'object' then return false; end if;
  end loop;
  payload := payload #> path;
  return json_typeof(payload) = kind and case kind
    when 'number' then (payload #>> '{}')::numeric = value::numeric
    else payload #>> '{}' is not distinct from value end;
exception when data_exception then
  return false;
end $$;

-- `publish_all` that waits at most 100 ms for other transactions' locks. Then it fails with 55P03, and can be repeated.
create function posthorn.try_publish_all(
  workspace text, event_types text[], payloads json[], idempotency_keys text[], trace_id text,
  most_deliveries integer, actor text, endpoint_ids json[] default null, retries boolean[] default null
) returns setof posthorn.published
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
begin
  return query select * from posthorn.publish_all(workspace, event_types, payloads, idempotency_keys, trace_id,
    most_deliveries, actor, endpoint_ids, retries);
end $$;

-- `publish_each` that waits only 20 ms for a lock, because all its events wait together. It fails with 55P03 if an endpoint or
-- workspace is being deleted.
create function posthorn.try_publish_each(
  workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[],
  most_deliveries integer, actors text[], endpoint_ids json[] default null, retries boolean[] default null
) returns setof posthorn.outcome
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '20ms' as $$
begin
  return query select * from posthorn.publish_each(workspaces, event_types, payloads, idempotency_keys, trace_ids,
    most_deliveries, actors, false, endpoint_ids, retries);
end $$;

revoke all on function posthorn.publish, posthorn.publish_events, posthorn.publish_each, posthorn.publish_all, posthorn.try_publish_all,
  posthorn.try_publish_each, posthorn.publish_one, posthorn.announce, posthorn.store_planned, posthorn.plan, posthorn.apply_keys,
  posthorn.take_keys, posthorn.publish_planned from public;
