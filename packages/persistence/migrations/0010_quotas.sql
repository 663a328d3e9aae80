-- Waiting deliveries and stored bytes of a workspace, counted about once a second. A publish only reads the result, so a flood
-- may exceed its quota until the next count.

-- Settings that SQL needs. `serve` writes them, and `migrate` the quotas.
create table posthorn.installation (
  only_row boolean primary key default true check (only_row),
  -- Quotas of workspaces without their own; null is none.
  waiting bigint,
  bytes bigint,
  -- The slug of the workspace that gets operational events (0013_operations.sql); null is none. It need not exist.
  system_workspace text collate "C"
);
insert into posthorn.installation default values;

-- Payload bytes of a workspace's events up to `up_to`.
create table posthorn.kept_bytes (
  workspace_id text collate "C" primary key references posthorn.workspaces on delete cascade,
  bytes bigint not null,
  up_to text collate "C" not null,
  counted_at timestamptz(3) not null
);

-- Adds events published since the last count. Counts all once an hour: history is removed, and older ids may commit later.
create function posthorn.count_bytes(workspace text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  known posthorn.kept_bytes;
  added bigint;
  last text;
begin
  select * into known from posthorn.kept_bytes k
  where k.workspace_id = workspace and k.counted_at > clock_timestamp() - interval '1 hour';
  select coalesce(sum(octet_length(e.payload)), 0), max(e.id) into added, last from posthorn.events e
  where e.workspace_id = workspace and e.id > coalesce(known.up_to, '');
  insert into posthorn.kept_bytes as k (workspace_id, bytes, up_to, counted_at)
  values (workspace, coalesce(known.bytes, 0) + added, coalesce(last, known.up_to, ''), coalesce(known.counted_at, clock_timestamp()))
  on conflict (workspace_id) do update
    set bytes = excluded.bytes, up_to = excluded.up_to, counted_at = excluded.counted_at;
  return coalesce(known.bytes, 0) + added;
end $$;

-- Stores which workspaces have used up a quota; returns how many. Counts at most a quota's rows. One caller at a time.
create function posthorn.check_quotas() returns integer
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  one record;
  present text;
  exceeding integer := 0;
begin
  if not pg_try_advisory_xact_lock(7067003, -1) then return null; end if;
  for one in
    with recursive waiting as (
      (select q.workspace_id as id from posthorn.queue q order by q.workspace_id limit 1)
      union all
      select n.id from waiting w cross join lateral (
        select q.workspace_id as id from posthorn.queue q where q.workspace_id > w.id order by q.workspace_id limit 1
      ) n
    )
    select w.id, w.used_up, coalesce(w.bytes_limit, d.bytes) as bytes_limit, exists (
        select from posthorn.queue q where q.workspace_id = w.id offset coalesce(w.waiting_limit, d.waiting) - 1
      ) and coalesce(w.waiting_limit, d.waiting) is not null as full_of_waiting
    from posthorn.workspaces w cross join posthorn.installation d
    where w.id in (select id from waiting) or w.used_up is not null or coalesce(w.bytes_limit, d.bytes) is not null
    order by w.id
  loop
    present := case
      when one.bytes_limit is not null and posthorn.count_bytes(one.id) >= one.bytes_limit then 'bytes'
      when one.full_of_waiting then 'waiting'
    end;
    if present is not null then exceeding := exceeding + 1; end if;
    if present is distinct from one.used_up then
      update posthorn.workspaces set used_up = present where id = one.id;
    end if;
  end loop;
  return exceeding;
end $$;
