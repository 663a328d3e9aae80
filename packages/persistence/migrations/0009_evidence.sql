-- Protects evidence from the role that runs Posthorn: rows keep their ids, and only these functions delete. They run with their
-- owner's rights, and only the role that runs Posthorn may call them.

create trigger workspaces_keep_ids before update of id on posthorn.workspaces
  for each row execute function posthorn.refuse_change();
create trigger endpoints_keep_ids before update of workspace_id, id on posthorn.endpoints
  for each row execute function posthorn.refuse_change();
create trigger deliveries_keep_ids before update of workspace_id, id, endpoint_id on posthorn.deliveries
  for each row execute function posthorn.refuse_change();
-- A payload may be blanked once; `purged_at` is set with it.
create trigger events_keep_ids before update of workspace_id, id, payload, purged_at on posthorn.events for each row
  when ((new.workspace_id, new.id) is distinct from (old.workspace_id, old.id) or new.payload <> 'null'
    or old.purged_at is not null or new.purged_at is null)
  execute function posthorn.refuse_change();

-- Removes up to `most` oldest deliveries of an endpoint (null: of the workspace); returns how many. Locks in the order of
-- posthorn.record.
create function posthorn.remove_history(workspace text, endpoint text, most integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  oldest text[];
  removed integer;
begin
  if endpoint is null then
    oldest := array(select d.id from posthorn.deliveries d where d.workspace_id = workspace order by d.id limit most for update);
  else
    oldest := array(
      select d.id from posthorn.deliveries d where d.workspace_id = workspace and d.endpoint_id = endpoint
      order by d.id limit most for update
    );
  end if;
  delete from posthorn.deliveries d where d.workspace_id = workspace and d.id = any (oldest);
  get diagnostics removed = row_count;
  return removed;
end $$;

-- Removes up to `most` deliveries of an endpoint, and as many missed events. Returns whether there are more.
create function posthorn.remove_of_endpoint(workspace text, endpoint text, most integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  removed constant integer := posthorn.remove_history(workspace, endpoint, most);
  missed integer;
begin
  delete from posthorn.missed_events m where m.ctid = any (array(
    select m.ctid from posthorn.missed_events m where m.workspace_id = workspace and m.endpoint_id = endpoint
    order by m.created_at, m.event_id limit most
  ));
  get diagnostics missed = row_count;
  return removed = most or missed = most;
end $$;

-- Deletes an endpoint. Nothing more is sent to it. `remove_deleted` removes the rest of a long history. Returns whether the
-- endpoint existed. Locks: the endpoint, then deliveries, as `record`. Called by: EndpointsRepo.remove.
create function posthorn.remove_endpoint(workspace text, endpoint text, most integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from posthorn.endpoints e where e.workspace_id = workspace and e.id = endpoint for update;
  if not found then return false; end if;
  if posthorn.remove_of_endpoint(workspace, endpoint, most) then
    insert into posthorn.deleted_endpoints (workspace_id, endpoint_id) values (workspace, endpoint);
  end if;
  delete from posthorn.endpoints e where e.workspace_id = workspace and e.id = endpoint;
  return true;
end $$;

-- Removes some of the history of a deleted endpoint, `most` deliveries at a time, until `within` is over. It holds their locks for
-- that long. Returns false once no deleted endpoint has any history left. Locks: deliveries in the order of `record`.
-- Called by: Retention.
create function posthorn.remove_deleted(most integer, within interval) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  one posthorn.deleted_endpoints;
  ends constant timestamptz := clock_timestamp() + within;
begin
  select * into one from posthorn.deleted_endpoints order by workspace_id, endpoint_id limit 1 for update skip locked;
  if not found then return false; end if;
  while posthorn.remove_of_endpoint(one.workspace_id, one.endpoint_id, most) loop
    if clock_timestamp() >= ends then return true; end if;
  end loop;
  delete from posthorn.deleted_endpoints d where d.workspace_id = one.workspace_id and d.endpoint_id = one.endpoint_id;
  return true;
end $$;

-- Deletes a workspace, and tells of each endpoint that goes with it. Locks: the workspace, then its endpoints. Called by:
-- WorkspacesRepo.remove.
create function posthorn.remove_workspace(workspace text, trace text) returns setof posthorn.workspaces
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from posthorn.workspaces w where w.id = workspace for update;
  perform posthorn.happened(array(
    select row(workspace, 'endpoint.deleted', jsonb_build_object('endpointId', e.id), trace)::posthorn.happening
    from posthorn.endpoints e where e.workspace_id = workspace order by e.id for update
  ));
  return query delete from posthorn.workspaces w where w.id = workspace returning w.*;
end $$;

-- Blanks an event's payload and its receivers' answers. Returns `purged`; `again` if that was done before; `waiting` if an
-- attempt is still to come, and then does nothing; `unknown`. The size and SHA-256 of the payload are for the audit log.
-- Conflicts with the lock of replays.
create function posthorn.purge_event(
  workspace text, event text, out outcome text, out bytes integer, out sha256 text, out attempts integer
) language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  found_event posthorn.events;
  made text[];
begin
  select * into found_event from posthorn.events e where e.workspace_id = workspace and e.id = event for update;
  if not found then outcome := 'unknown'; return; end if;
  if found_event.purged_at is not null then outcome := 'again'; return; end if;
  made := array(select posthorn.deliveries_of_event(workspace, event));
  if exists (
    select from posthorn.deliveries d where d.workspace_id = workspace and d.id = any (made) and d.status in ('pending', 'failed')
  ) then
    outcome := 'waiting';
    return;
  end if;
  outcome := 'purged';
  bytes := octet_length(found_event.payload);
  sha256 := encode(pg_catalog.sha256(convert_to(found_event.payload, 'UTF8')), 'hex');
  update posthorn.events e set payload = 'null', purged_at = date_trunc('milliseconds', clock_timestamp())
  where e.workspace_id = workspace and e.id = event;
  update posthorn.attempts a set response_headers = null, response_body = null
  where a.workspace_id = workspace and a.delivery_id = any (made);
  get diagnostics attempts = row_count;
  delete from posthorn.failed_deliveries f using posthorn.deliveries d
  where d.workspace_id = workspace and d.id = any (made)
    and (f.workspace_id, f.endpoint_id, f.created_at, f.delivery_id) = (d.workspace_id, d.endpoint_id, d.created_at, d.id);
  delete from posthorn.missed_events m where m.workspace_id = workspace and m.event_id = event;
  -- Kept answers that show the payload. Repeating their calls is refused from now on.
  update posthorn.idempotent_answers k set body = null, sealed = null
  where k.workspace_id = workspace and strpos(k.body, '"' || event || '"') > 0 and strpos(k.body, '"payload":') > 0;
end $$;

revoke all on function posthorn.remove_history, posthorn.remove_of_endpoint, posthorn.remove_endpoint, posthorn.remove_deleted, posthorn.remove_workspace, posthorn.purge_event,
  posthorn.remove_old_deliveries, posthorn.remove_waiting, posthorn.remove_old_events from public;

-- Rights of the role of `serve` and `work`, on a table or on one of its columns. Locking a row needs the right to change a
-- column. The grants below and `posthorn doctor` read this list.
create function posthorn.needed_rights(out of_table regclass, out privilege text, out of_column text) returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  with guarded (name, columns) as (values
    ('attempts', '{}'::text[]),
    ('audit_events', '{}'),
    ('operator_audit_events', '{}'),
    ('workspaces', '{name,waiting_limit,bytes_limit,endpoints_limit,tokens_limit,publish_per_minute,used_up,policy,alerts,alert_secrets}'),
    ('endpoints', '{url,description,event_types,external_id,metadata,policy,request,request_secrets,filter,filter_path,filter_program,filter_weight,
      enabled,disabled_reason,disabled_at,consecutive_failures,failing_since,recovers_from,generation,secret,previous_secret,previous_secret_expires_at,public_key,
      previous_public_key,updated_at}'),
    ('events', '{missed}'),
    ('deliveries', '{status,attempts,next_attempt_at,last_http_status,last_failure_reason,last_duration_ms,last_attempt_at,
      dead_letter_reason}')
  )
  select c.oid::regclass, one.privilege, null
  from pg_class c left join guarded g on g.name = c.relname
  cross join unnest(array['select', 'insert', 'update', 'delete']) as one (privilege)
  where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'r'
    and case when c.relname = 'migrations' then one.privilege = 'select'
      else g.name is null or one.privilege in ('select', 'insert') end
  union all
  select ('posthorn.' || g.name)::regclass, 'update', c from guarded g cross join unnest(g.columns) as c
$$;

-- Takes away what default privileges gave (docker/roles.sql).
do $$
declare
  other text;
  needed record;
begin
  for other in
    select distinct case held.grantee when 0 then 'public' else held.grantee::regrole::text end
    from pg_class c cross join lateral aclexplode(c.relacl) held
    where c.oid = 'posthorn.attempts'::regclass and held.grantee <> c.relowner
  loop
    for needed in
      select n.of_table, array_agg(n.privilege) filter (where n.of_column is null) as whole,
        string_agg(quote_ident(n.of_column), ', ') as columns
      from posthorn.needed_rights() n group by n.of_table
    loop
      if not needed.whole @> '{update}' then
        execute format('revoke update, delete, truncate on %s from %s', needed.of_table, other);
        if needed.columns <> '' then
          execute format('grant update (%s) on %s to %s', needed.columns, needed.of_table, other);
        end if;
      end if;
    end loop;
  end loop;
end $$;

-- Without a primary key, logical replication identifies rows by all their columns.
alter table posthorn.idempotent_answers replica identity full;
alter table posthorn.stale_hours replica identity full;
