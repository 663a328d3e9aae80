-- Filters on payloads. `filter_holds` alone says whether a filter holds: `sift` asks it to publish, `lets_through` to try, explain and
-- replay. `first_failing` says which condition does not hold.
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
-- they have commas, which takes as long as reading them.
create function posthorn.most_work(judged posthorn.judged_payload) returns bigint language sql immutable parallel safe
  return greatest(80000, 2 * (judged).parts);

-- How many elements the arrays within each member of an object hold together, as `.name`; `$`: of a payload that is no object.
-- Takes as long as reading the payload.
create function posthorn.elements_in(document jsonb) returns jsonb language sql immutable parallel safe
  return case when jsonb_typeof(document) = 'object' then (
      select jsonb_object_agg('.' || e.key, jsonb_array_length(jsonb_path_query_array(e.value, 'strict $.**[*].type()')))
      from jsonb_each(document) e where jsonb_typeof(e.value) in ('array', 'object'))
    else jsonb_build_object('$', jsonb_array_length(jsonb_path_query_array(document, 'strict $.**[*].type()'))) end;

-- An upper bound on what judging by this program takes: all elements within the members that it asks, as often as it asks, what
-- its regular expressions read, and where arrays are nested what parsing its path takes; 50 for the call.
create function posthorn.work_of(program jsonb, judged posthorn.judged_payload, elements jsonb) returns bigint
language sql immutable parallel safe
begin atomic
  select 50 + (program ->> 'fixed')::bigint + (program ->> 'scans')::bigint * (judged).bytes / 25
    + (1 + (judged).nested) * sum(r.units::bigint * (1 + coalesce((elements ->> r.within)::bigint, (elements ->> '$')::bigint, 0)))
    + case when (judged).nested > 0 then (octet_length(program ->> 'path')
      + 3 * (judged).nested * (length(program ->> 'path') - length(replace(program ->> 'path', chr(1), '')))) / 8 else 0 end
  from jsonb_each_text(program -> 'reaches') as r(within, units);
end;

-- `filter_holds` within the bound of one event: what would take too much work passes, as it does when it is published. Counting the
-- work takes long, so an upper bound comes first.
create function posthorn.lets_through(filter_path jsonpath, filter_program jsonb, judged posthorn.judged_payload) returns boolean
language sql immutable parallel safe
  return case
    when (filter_program ->> 'weight')::bigint * (judged).parts * (1 + (judged).nested) > posthorn.most_work(judged)
      and posthorn.work_of(filter_program, judged, posthorn.elements_in((judged).document)) > posthorn.most_work(judged) then true
    else posthorn.filter_holds(filter_path, filter_program, judged) end;

-- The audience without the endpoints whose filter refuses the payload. Those that ask least are judged first; once the work of an event
-- is spent, the others pass. `unjudged` says so: 'unfilterable'; or 'apart', and nobody is left out, if judging would hold up the
-- other events of a shared statement.
create function posthorn.sift(audience posthorn.audience, payload text, shared boolean) returns posthorn.audience
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  wanting constant text[] := audience.enabled || audience.disabled;
  judged posthorn.judged_payload;
  elements jsonb;
  work bigint;
  one record;
  refusing text[] := '{}';
begin
  if shared and octet_length(payload) > 65536 then audience.unjudged := 'apart'; return audience; end if;
  judged := posthorn.judged(payload);
  if (judged).document is null then audience.unjudged := 'unfilterable'; return audience; end if;
  work := audience.weight::bigint * cardinality(wanting) * (judged).parts * (1 + (judged).nested);
  if shared and work > 6000 then audience.unjudged := 'apart'; return audience; end if;
  if work <= posthorn.most_work(judged) then
    refusing := array(
      select unnest(f.ids) from (
        select array_agg(e.id) as ids, (array_agg(e.filter_path))[1] as path, (array_agg(e.filter_program))[1] as program
        from posthorn.endpoints e
        where e.workspace_id = audience.workspace_id and e.id = any (wanting) and e.filter_path is not null
        group by e.filter::text
      ) f where not posthorn.filter_holds(f.path, f.program, judged));
  else
    elements := posthorn.elements_in((judged).document);
    work := posthorn.most_work(judged);
    for one in
      select f.*, posthorn.work_of(f.program, judged, elements) as work from (
        select array_agg(e.id) as ids, (array_agg(e.filter_path))[1] as path, (array_agg(e.filter_program))[1] as program
        from posthorn.endpoints e
        where e.workspace_id = audience.workspace_id and e.id = any (wanting) and e.filter_path is not null
        group by e.filter::text
      ) f order by work, f.ids
    loop
      work := work - one.work;
      if work < 0 then
        audience.unjudged := 'unfilterable';
        exit;
      end if;
      if not posthorn.filter_holds(one.path, one.program, judged) then refusing := refusing || one.ids; end if;
    end loop;
  end if;
  if cardinality(refusing) = 0 then return audience; end if;
  audience.enabled := nullif(array(select id from unnest(audience.enabled) id where id <> all (refusing)), '{}');
  audience.disabled := nullif(array(select id from unnest(audience.disabled) id where id <> all (refusing)), '{}');
  if audience.asleep is not null then
    audience.asleep := (select array_agg(distinct posthorn.shard_of(id)) filter (where posthorn.shard_of(id) = any (audience.asleep))
      from unnest(audience.enabled) id);
  end if;
  return audience;
end $$;
