-- Filters on payloads. `posthorn.filter_holds` alone judges: for publishing, trying, explaining and replaying.
--
-- `domain/src/filter/Compile.ts` makes a program of a filter: a SQL/JSON path with two marks, and what judging costs. A payload
-- without arrays directly within arrays is judged by `filter_path`, where the marks stand for nothing.

-- A payload in the form that is judged.
create type posthorn.judged_payload as (
  document jsonb,
  -- How many arrays may stand directly within each other, less one.
  nested integer,
  -- An upper bound on the number of its values, and its bytes.
  parts integer, bytes integer
);

create function posthorn.path_of(program jsonb, nested integer) returns jsonpath language sql immutable parallel safe
  return replace(replace(program ->> 'path', chr(1), repeat('[*]', nested)),
    chr(2), case when nested > 0 then '@.type() != "array" && ' else '' end)::jsonpath;

-- How many arrays stand directly within each other, less one: exact up to 1, else an upper bound. `brackets`: how many arrays there are.
create function posthorn.nesting_of(document jsonb, brackets integer) returns integer language sql immutable parallel safe
  return case
    when brackets < 2 or not jsonb_path_exists(document, 'strict $.**[*] ? (@.type() == "array")') then 0
    when not jsonb_path_exists(document, 'strict $.**[*][*][*][*] ? (@.type() == "array")') then least(3, brackets - 1)
    else least(99, brackets - 1) end;

-- Null for what jsonb cannot hold: \u0000, half a surrogate pair, a number beyond numeric, nesting beyond its stack.
create function posthorn.judged(payload text) returns posthorn.judged_payload language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp as $$
declare
  document jsonb;
  bytes constant integer := octet_length(payload);
begin
  document := payload::jsonb;
  return row(document, posthorn.nesting_of(document, bytes - octet_length(replace(payload, '[', ''))),
    1 + bytes - octet_length(replace(payload, ',', '')), bytes)::posthorn.judged_payload;
exception when data_exception or program_limit_exceeded then
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
