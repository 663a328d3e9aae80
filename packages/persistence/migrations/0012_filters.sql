-- Filters on payloads. `posthorn.filter_holds` alone judges: for publishing, trying, explaining and replaying.
--
-- `domain/src/filter/Compile.ts` makes a program of a filter: a SQL/JSON path with two marks, and what judging costs. A payload
-- without arrays directly within arrays is judged by `filter_path`, where the marks stand for nothing.

-- A payload in the form that is judged.
create type posthorn.judged_payload as (
  document jsonb,
  -- How many arrays may stand directly within each other, less one.
  nested integer,
  -- An upper bound on the number of its values, and on what reading its strings takes in such parts.
  parts integer, bytes integer
);

create function posthorn.path_of(program jsonb, nested integer) returns jsonpath language sql immutable parallel safe
  return replace(replace(program ->> 'path', chr(1), repeat('[*]', nested)),
    chr(2), case when nested > 0 then '@.type() != "array" && ' else '' end)::jsonpath;

-- How many arrays stand directly within each other, less one, or more: what brackets in strings look like costs only time.
create function posthorn.nesting_of(payload text, document jsonb) returns integer language sql immutable parallel safe
  return case
    when strpos(payload, '[') = 0 or payload !~ '[[,]\s*\[' then 0
    when not jsonb_path_exists(document, 'strict $.**[*][*][*][*] ? (@.type() == "array")') then 3
    else 99 end;

-- Null for what jsonb cannot hold: \u0000, half a surrogate pair, a number beyond numeric, nesting beyond its stack.
create function posthorn.judged(payload text) returns posthorn.judged_payload language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp as $$
declare
  document jsonb;
  bytes constant integer := octet_length(payload);
begin
  document := payload::jsonb;
  return row(document, posthorn.nesting_of(payload, document),
    1 + bytes - octet_length(replace(payload, ',', '')) + bytes / 1000, bytes)::posthorn.judged_payload;
exception when others then
  -- Data exceptions, and limits of the program.
  if sqlstate !~ '^(22|54)' then raise; end if;
  return null;
end $$;

-- Holds without a filter, and for a payload that cannot be judged.
create function posthorn.filter_holds(filter_path jsonpath, filter_program jsonb, judged posthorn.judged_payload) returns boolean
language sql immutable parallel safe
  return coalesce(jsonb_path_match((judged).document, case when (judged).nested = 0 then filter_path
    else posthorn.path_of(filter_program, (judged).nested) end), true);

-- Which of the conditions does not hold, from 1 on; null when all hold. `explained` counts its first `k` conditions only, and
-- once it fails it fails for each larger `k`.
create function posthorn.first_failing(explained text, conditions integer, judged posthorn.judged_payload) returns integer
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  path constant jsonpath := posthorn.path_of(jsonb_build_object('path', explained), (judged).nested);
  holding integer := 0;
  failing integer := conditions + 1;
  k integer := conditions;
begin
  if (judged).document is null then return null; end if;
  while failing - holding > 1 loop
    if jsonb_path_match((judged).document, path, jsonb_build_object('k', k)) then holding := k; else failing := k; end if;
    k := (holding + failing) / 2;
  end loop;
  return nullif(failing, conditions + 1);
end $$;

-- Units of work, of 0.1 to 0.15 us, that judging an event may take by all its filters: 80,000, and for large payloads twice as many as
-- they have parts, which takes as long as reading them.
create function posthorn.most_work(judged posthorn.judged_payload) returns bigint language sql immutable parallel safe
  return greatest(80000, 2 * (judged).parts);

-- What judging by these programs takes, counting the elements that their paths reach: each element once for each path, so that counting
-- costs no more than one filter. (`jsonb_path_query` takes a time quadratic in their number.) Null for too many paths. A path that is
-- made for nested arrays has to be parsed.
create function posthorn.work_of(programs jsonb[], judged posthorn.judged_payload) returns bigint
language sql immutable parallel safe
begin atomic
  select case when count(*) <= 1000 then (1 + (judged).nested) * sum(r.units * (1 + jsonb_array_length(
      jsonb_path_query_array((judged).document, posthorn.path_of(jsonb_build_object('path', r.path), (judged).nested))))) end
    + (select sum((p ->> 'fixed')::integer + (p ->> 'scans')::integer * (judged).bytes / 25
        + case when (judged).nested > 0 then octet_length(posthorn.path_of(p, (judged).nested)::text) / 8 else 0 end)
      from unnest(programs) p)
  from (
    select r.path, sum(r.units::integer) as units
    from unnest(programs) p cross join lateral jsonb_each_text(p -> 'reaches') as r(path, units)
    group by r.path limit 1001
  ) r;
end;

-- `filter_holds` within the bound of one event: what would take too much work passes, as it does when it is published. Counting the
-- work takes long, so an upper bound comes first.
create function posthorn.lets_through(filter_path jsonpath, filter_program jsonb, judged posthorn.judged_payload) returns boolean
language sql immutable parallel safe
  return case
    when (filter_program ->> 'weight')::bigint * (judged).parts * (1 + (judged).nested) > posthorn.most_work(judged)
      and coalesce(posthorn.work_of(array[filter_program], judged) > posthorn.most_work(judged), true) then true
    else posthorn.filter_holds(filter_path, filter_program, judged) end;

-- The audience without the endpoints whose filter refuses the payload. `unjudged` says why nobody was left out: 'unfilterable', or
-- 'apart' if judging would hold up the other events of a shared statement.
create function posthorn.sift(audience posthorn.audience, payload text, shared boolean) returns posthorn.audience
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  wanting constant text[] := audience.enabled || audience.disabled;
  judged posthorn.judged_payload;
  work bigint;
  refusing text[];
begin
  if shared and octet_length(payload) > 65536 then audience.unjudged := 'apart'; return audience; end if;
  judged := posthorn.judged(payload);
  if (judged).document is null then audience.unjudged := 'unfilterable'; return audience; end if;
  work := audience.weight::bigint * cardinality(wanting) * (judged).parts * (1 + (judged).nested);
  if shared and work > 6000 then audience.unjudged := 'apart'; return audience; end if;
  if work > posthorn.most_work(judged) then
    work := posthorn.work_of(array(
      select (array_agg(e.filter_program))[1] from posthorn.endpoints e
      where e.workspace_id = audience.workspace_id and e.id = any (wanting) and e.filter_path is not null
      group by e.filter::text), judged);
    if coalesce(work > posthorn.most_work(judged), true) then audience.unjudged := 'unfilterable'; return audience; end if;
  end if;
  refusing := array(
    select unnest(f.ids) from (
      select array_agg(e.id) as ids, (array_agg(e.filter_path))[1] as path, (array_agg(e.filter_program))[1] as program
      from posthorn.endpoints e
      where e.workspace_id = audience.workspace_id and e.id = any (wanting) and e.filter_path is not null
      group by e.filter::text
    ) f where not posthorn.filter_holds(f.path, f.program, judged));
  if cardinality(refusing) = 0 then return audience; end if;
  audience.enabled := nullif(array(select id from unnest(audience.enabled) id where id <> all (refusing)), '{}');
  audience.disabled := nullif(array(select id from unnest(audience.disabled) id where id <> all (refusing)), '{}');
  if audience.asleep is not null then
    audience.asleep := (select array_agg(distinct posthorn.shard_of(id)) filter (where posthorn.shard_of(id) = any (audience.asleep))
      from unnest(audience.enabled) id);
  end if;
  return audience;
end $$;
