-- Operational events: what happens to the endpoints, deliveries and replays of workspaces, published into the workspace that
-- SYSTEM_WORKSPACE names, in the transaction of the change. So there is exactly one for each change that is committed.
--
-- They pass no quota and need no idempotency key. The system workspace's own changes make none, nor does publishing them.

create function posthorn.system_workspace() returns text language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  named constant text := (select i.system_workspace from posthorn.installation i);
begin
  if named is null then return null; end if;
  return (select w.id from posthorn.workspaces w where w.slug = named);
end $$;

-- Notes what happened for alerts (0014_alerts.sql), and publishes it, each with its workspace. All that have one type share a look-up
-- of who gets it. Locks: endpoints of the system workspace that get one, as a publish; without any, the workspace. Waits as long as its
-- caller's `lock_timeout` allows.
create function posthorn.happened(happenings posthorn.happening[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  system text;
  audiences posthorn.audience[];
  asleep smallint[];
  began bigint;
begin
  if cardinality(happenings) = 0 then return; end if;
  perform posthorn.note_alerts(happenings);
  system := posthorn.system_workspace();
  happenings := array(select h from unnest(happenings) h where h.workspace_id <> system);
  if cardinality(happenings) = 0 then return; end if;
  perform from posthorn.workspaces w where w.id = system for key share;
  audiences := array(select posthorn.audience_of(system, k.kind, null) from (select distinct h.kind from unnest(happenings) h) k);
  asleep := array(select unnest(a.asleep) from unnest(audiences) a);
  if cardinality(asleep) > 0 then perform posthorn.notify_sleepers(asleep); end if;
  began := date_part('epoch', clock_timestamp()) * 1000000;
  perform posthorn.store_planned(array(
    select row(h.index, system, i.id, h.kind, i.payload, coalesce(h.trace_id, posthorn.own_trace(i.id)), null, (f.audience).enabled,
      array(select posthorn.id_of('whd_', began + h.index) from unnest((f.audience).enabled)), (f.audience).disabled, false, null,
      posthorn.actor_text('system', 'worker', 'worker'), null, null, nullif((f.audience).unjudged is not null, false))::posthorn.planned
    from unnest(happenings) with ordinality as h(workspace_id, kind, facts, trace_id, index)
    join posthorn.workspaces w on w.id = h.workspace_id
    cross join lateral (
      select posthorn.id_of('evt_', began + h.index) as id,
        (jsonb_build_object('workspace', jsonb_build_object('id', w.id, 'slug', w.slug)) || h.facts)::text as payload offset 0
    ) i
    join unnest(audiences) a on a.wanted = h.kind
    cross join lateral (
      select case when a.weight is null then a else posthorn.sift(a, i.payload, false) end as audience offset 0
    ) f
    order by h.index
  ), date_trunc('milliseconds', clock_timestamp()));
end $$;

-- Whoever changes an endpoint through the API writes an audit event of it. Those of the worker are told by count_failures.
create function posthorn.tell_of_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  facts constant jsonb := jsonb_build_object('endpointId', new.target_id);
begin
  perform posthorn.happened(array[row(new.workspace_id,
    case new.action when 'webhook.secret_rotated' then 'endpoint.updated' else replace(new.action, 'webhook.endpoint_', 'endpoint.') end,
    facts || case when new.action in ('webhook.endpoint_updated', 'webhook.secret_rotated')
      then jsonb_build_object('fields', new.changes -> 'fields') else '{}' end, new.trace_id)::posthorn.happening]
    || case when new.changes #>> '{to,enabled}' = 'false'
      then array[row(new.workspace_id, 'endpoint.disabled', facts || '{"reason": "manual"}', new.trace_id)::posthorn.happening] end);
  return null;
end $$;

create trigger endpoints_told after insert on posthorn.audit_events for each row
  when (new.action in ('webhook.endpoint_created', 'webhook.endpoint_updated', 'webhook.endpoint_deleted', 'webhook.secret_rotated'))
  execute function posthorn.tell_of_change();

create function posthorn.tell_of_replay() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform posthorn.happened(array[row(new.workspace_id, 'replay.finished', jsonb_build_object('replayId', new.id,
    'endpointId', new.endpoint_id, 'state', new.state, 'matched', new.matched, 'replayed', new.replayed, 'failed', new.failed),
    new.trace_id)::posthorn.happening]);
  return null;
end $$;

create trigger replays_told after update of state on posthorn.replays for each row
  when (old.state = 'running' and new.state <> 'running') execute function posthorn.tell_of_replay();

revoke all on function posthorn.happened from public;
