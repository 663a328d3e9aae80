-- The tables. Each key and index leads with workspace_id; the schema test names the exceptions. Ids sort bytewise by creation.

-- An id: prefix, 13 hex digits of microseconds, 16 random ones, as `domain/Ids` makes them. One expression, so that PostgreSQL
-- inlines it.
create function posthorn.id_of(prefix text, microseconds bigint) returns text language sql volatile parallel safe
  return prefix || lpad(to_hex(microseconds), 13, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17);

create function posthorn.new_id(prefix text) returns text language sql volatile parallel safe
  return posthorn.id_of(prefix, (date_part('epoch', clock_timestamp()) * 1000000)::bigint);

-- The moment of an id in milliseconds: `created_at` of events and deliveries. Ordering by id is ordering by (created_at, id).
create function posthorn.made_at(id text) returns timestamptz language sql immutable parallel safe
  return to_timestamp((('x' || substr(id, 5, 13))::bit(52)::bigint / 1000)::float8 / 1000);

-- The beginning that an event's id shares with the ids of the deliveries that publishing made from it.
create function posthorn.deliveries_begin(event_id text) returns text language sql immutable parallel safe
  return 'whd_' || substr(event_id, 5, 13);

create function posthorn.rfc3339(at timestamptz) returns text language sql stable parallel safe
  return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- Identifies an endpoint's effective delivery policy; 0 without one.
create function posthorn.policy_version(own jsonb, inherited jsonb) returns bigint language sql stable parallel safe
  return case when own is null and inherited is null then 0 else hash_record_extended(row(own, inherited), 0) end;

create function posthorn.own_trace(event_id text) returns text language sql immutable parallel safe
  return substr(event_id, 5) || '000';

create table posthorn.workspaces (
  id text collate "C" primary key,
  slug text collate "C" not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$'),
  name text not null check (length(name) between 1 and 200),
  -- Null: the installation's limit, here and below.
  waiting_limit bigint check (waiting_limit >= 1),
  bytes_limit bigint check (bytes_limit >= 1),
  endpoints_limit integer check (endpoints_limit >= 1),
  tokens_limit integer check (tokens_limit >= 1),
  publish_per_minute integer check (publish_per_minute >= 1),
  -- The quota that was used up at the last count (0010_quotas.sql). Publishing reads only this.
  used_up text check (used_up in ('waiting', 'bytes')),
  -- Null: the default. Validated by its writers.
  policy jsonb,
  -- Whom to tell what (0014_alerts.sql), and the URLs of those who are told by Slack, sealed as one text. Validated by its writers.
  alerts jsonb not null default '[]' check (jsonb_typeof(alerts) = 'array'),
  alert_secrets bytea,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
);

create table posthorn.api_tokens (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  name text not null check (length(name) between 1 and 200),
  scopes text[] not null check (cardinality(scopes) > 0),
  secret_hash bytea not null check (length(secret_hash) = 32),
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  revoked_at timestamptz(3),
  created_by_type text check (created_by_type in ('operator', 'api_token', 'member')),
  created_by_id text collate "C",
  -- The nearest token and session before this token in its chain.
  parent_id text collate "C",
  session_id text collate "C",
  -- The root of the token's chain; null if the operator made the token.
  root_type text check (root_type in ('operator', 'api_token', 'member')),
  root_id text collate "C",
  primary key (workspace_id, id),
  check ((created_by_type is null) = (created_by_id is null)),
  check ((root_type is null) = (root_id is null))
);
-- Without the workspace: the token determines it.
create unique index api_tokens_lookup on posthorn.api_tokens (id);
create index api_tokens_newest on posthorn.api_tokens (workspace_id, created_at desc, id desc);
create index api_tokens_open on posthorn.api_tokens (workspace_id, (coalesce(expires_at, 'infinity'::timestamptz)))
  where revoked_at is null;
create index api_tokens_parent on posthorn.api_tokens (workspace_id, parent_id) where parent_id is not null;
create index api_tokens_session on posthorn.api_tokens (workspace_id, session_id) where session_id is not null;

create table posthorn.members (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  email text not null check (length(email) <= 254),
  email_key text collate "C" not null,
  name text not null check (length(name) between 1 and 200),
  role text collate "C" not null check (role in ('viewer', 'developer', 'admin')),
  primary key (workspace_id, id),
  constraint members_email unique (workspace_id, email_key)
);

create table posthorn.endpoints (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  url text not null check (length(url) <= 2048),
  description text check (length(description) <= 500),
  event_types text[] not null check (cardinality(event_types) between 1 and 100),
  external_id text collate "C" check (external_id ~ '^[A-Za-z0-9_.:-]{1,128}$'),
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  enabled boolean not null,
  disabled_reason text check (disabled_reason in ('manual', 'consecutive_failures', 'failing_for', 'gone')),
  -- Start of the present or latest disabled period. Missed events count from here.
  disabled_at timestamptz(3),
  -- Deliveries that were removed unsent, after the endpoint had been disabled for as long as history is kept.
  expired integer not null default 0,
  consecutive_failures integer not null default 0,
  failing_since timestamptz(3),
  -- What the next delivered attempt is the recovery from: a reported failing, or an enabling. Null: nothing.
  recovers_from text check (recovers_from in ('failing', 'enabling')),
  -- Raised when the endpoint is enabled again. Attempts of an older generation do not count in the streak.
  generation integer not null default 0,
  -- Signing secret and private key as one sealed text (SecretBox). The previous secret signs until it expires.
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamptz(3),
  public_key bytea check (length(public_key) = 32),
  previous_public_key bytea check (length(previous_public_key) = 32),
  -- Null: the workspace's. Validated by its writers.
  policy jsonb,
  -- The request profile, and its secrets sealed as one text. Validated by its writers.
  request jsonb,
  request_secrets bytea,
  -- The text as it was put, and what PostgreSQL judges by (0012_filters.sql). Written together.
  filter json,
  filter_path jsonpath,
  filter_program jsonb,
  filter_weight integer,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (workspace_id, id),
  check (enabled = (disabled_reason is null)),
  check ((previous_secret is null) = (previous_secret_expires_at is null)),
  check (previous_public_key is null or (public_key is not null and previous_secret is not null))
) with (fillfactor = 80);
create unique index endpoints_external_id on posthorn.endpoints (workspace_id, external_id) where external_id is not null;
create index endpoints_filtered on posthorn.endpoints (workspace_id, id) where filter_path is not null;

-- One row for each pattern of an endpoint, so that matching an event takes a few index probes.
create table posthorn.subscriptions (
  workspace_id text collate "C" not null,
  pattern text collate "C" not null,
  endpoint_id text collate "C" not null,
  primary key (workspace_id, pattern, endpoint_id),
  foreign key (workspace_id, endpoint_id) references posthorn.endpoints on delete cascade
);
create index subscriptions_endpoint on posthorn.subscriptions (workspace_id, endpoint_id);

-- Events, deliveries and the queue have no foreign keys, which cost 25 us of a publish of 110. The locks of a publish protect
-- its rows, and triggers cascade deletes.
create table posthorn.events (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  event_type text collate "C" not null,
  -- The published text: jsonb would reorder members and respell numbers.
  payload text not null,
  trace_id text collate "C" not null,
  deliveries integer not null,
  missed integer not null,
  -- Type, transport and id, separated by spaces.
  actor text collate "C" not null,
  -- The endpoints that the publish named, as given; null: those that match.
  endpoint_ids text[],
  -- False: a delivery that the publish made has one attempt.
  retry boolean not null default true,
  -- True: the payload could not be judged by filters, so it passed them all. Null otherwise.
  unfilterable boolean,
  purged_at timestamptz(3),
  created_at timestamptz(3) not null
-- A vacuum reads only new pages. Unvacuumed rows make counting a type's last day 35 times slower.
) with (autovacuum_vacuum_insert_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0);
create index events_type on posthorn.events (workspace_id, event_type, id desc);
-- Own trace ids begin with the time: random ones cost 27 times the WAL. The condition repeats own_trace, because inlining a
-- call costs 12 us for each insert.
create index events_trace on posthorn.events (workspace_id, trace_id) where trace_id <> substr(id, 5) || '000';
-- Created after the other index: while statistics say that a table is empty, PostgreSQL uses the newest index.
alter table posthorn.events add primary key (workspace_id, id);

-- The event types of a workspace past a name, each with its newest event. Each type that is read costs one index step.
create function posthorn.types_past(workspace text, past text) returns table (event_type text, id text)
language sql stable rows 100
begin atomic
  with recursive types as (
    (select e.event_type, e.id from posthorn.events e where e.workspace_id = workspace and e.event_type > past
     order by e.event_type, e.id desc limit 1)
    union all
    select next.event_type, next.id from types t cross join lateral (
      select e.event_type, e.id from posthorn.events e where e.workspace_id = workspace and e.event_type > t.event_type
      order by e.event_type, e.id desc limit 1
    ) next
  )
  select t.event_type, t.id from types t;
end;

-- Endpoints that are deleted, and whose deliveries are still being removed.
create table posthorn.deleted_endpoints (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  endpoint_id text collate "C" not null,
  primary key (workspace_id, endpoint_id)
);

create table posthorn.missed_events (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  created_at timestamptz(3) not null,
  -- A replay job covers only what was missed before it started.
  missed_by xid8 not null default pg_current_xact_id(),
  primary key (workspace_id, endpoint_id, created_at, event_id),
  foreign key (workspace_id, event_id) references posthorn.events on delete cascade
);
create index missed_events_event on posthorn.missed_events (workspace_id, event_id);

create table posthorn.idempotency_keys (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  key text collate "C" not null,
  fingerprint bytea not null,
  event_id text collate "C" not null,
  delivery_ids text[] not null default '{}',
  created_at timestamptz(3) not null,
  primary key (workspace_id, key)
);
create index idempotency_keys_age on posthorn.idempotency_keys (workspace_id, created_at);

create table posthorn.idempotent_answers (
  -- Null for the operator's calls outside of workspaces.
  workspace_id text collate "C" references posthorn.workspaces on delete cascade,
  caller text collate "C" not null,
  key text collate "C" not null,
  -- HMAC of operation, path and body under a master key (SecretBox).
  fingerprint bytea not null,
  status smallint not null,
  headers json not null,
  body text,
  -- The sealed body if it contains a secret. Erased after ten minutes.
  sealed bytea,
  -- The call may run until then: for example a test send that waits for its outcome.
  running_until timestamptz(3),
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  constraint idempotent_answers_key unique nulls not distinct (workspace_id, caller, key),
  check (body is null or sealed is null)
);
create index idempotent_answers_age on posthorn.idempotent_answers (workspace_id, created_at);
create index idempotent_answers_sealed on posthorn.idempotent_answers (workspace_id, created_at) where sealed is not null;

-- A domain's check is parsed once, a table's check for each insert: 20 us of a lone publish.
create domain posthorn.delivery_status as text collate "C"
  check (value in ('pending', 'delivered', 'failed', 'failed_permanent', 'dead_lettered'));

create table posthorn.deliveries (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- Null only for a test send.
  event_id text collate "C",
  event_type text collate "C" not null,
  payload text,
  actor text collate "C",
  trace_id text collate "C" not null,
  status posthorn.delivery_status not null default 'pending',
  attempts smallint not null default 0,
  next_attempt_at timestamptz(3),
  -- No foreign key: a replay may outlive its source.
  replayed_from text collate "C",
  replay_id text collate "C",
  -- The transaction that sent an event of which the publish had made neither a delivery nor a missed event. Null for all others.
  unsent_by xid8,
  last_http_status smallint,
  last_failure_reason text collate "C",
  last_duration_ms integer,
  last_attempt_at timestamptz(3),
  dead_letter_reason text collate "C",
  created_at timestamptz(3) not null
-- With half of each page free, recording is a HOT update and touches no index: 2,014 bytes of WAL for a delivery instead of
-- 2,813.
) with (fillfactor = 55);
create index deliveries_endpoint on posthorn.deliveries (workspace_id, endpoint_id, id);
-- Replays only: deliveries_of_event finds the others by the event's id.
create index deliveries_event on posthorn.deliveries (workspace_id, event_id, endpoint_id, id)
  where replayed_from is not null or replay_id is not null;
create index deliveries_trace on posthorn.deliveries (workspace_id, trace_id)
  where event_id is null or replayed_from is not null or replay_id is not null;
-- An unsent event is made up for once, whatever jobs and workers run.
create unique index deliveries_unsent on posthorn.deliveries (workspace_id, endpoint_id, event_id) where unsent_by is not null;
create index deliveries_source on posthorn.deliveries (workspace_id, replayed_from) where event_id is null;
alter table posthorn.deliveries add primary key (workspace_id, id);

create function posthorn.deliveries_of_event(workspace text, event text) returns setof text language sql stable
begin atomic
  select d.id from posthorn.deliveries d
  where d.workspace_id = workspace and d.id >= posthorn.deliveries_begin(event) and d.id < posthorn.deliveries_begin(event) || 'g'
    and d.event_id = event and d.replayed_from is null and d.replay_id is null
  union all
  select d.id from posthorn.deliveries d
  where d.workspace_id = workspace and d.event_id = event and (d.replayed_from is not null or d.replay_id is not null);
end;

-- Deliveries of an endpoint (null: of the workspace) below an id, newest first. Planned once for each connection. The range on
-- `endpoint_id` keeps the planner from the primary key.
create function posthorn.newest_deliveries(workspace text, endpoint text, before text, most integer)
returns setof posthorn.deliveries
language plpgsql stable rows 50 set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  if endpoint is null then
    return query select * from posthorn.deliveries d
      where d.workspace_id = workspace and d.id < before order by d.id desc limit most;
  else
    return query select * from posthorn.deliveries d
      where d.workspace_id = workspace and d.endpoint_id >= endpoint and (d.endpoint_id, d.id) < (endpoint, before)
      order by d.endpoint_id desc, d.id desc limit most;
  end if;
end $$;

create table posthorn.queue (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  shard smallint not null,
  due_at timestamptz not null,
  attempts smallint not null default 0,
  -- Claims in a row without an observation. Stored only while a dead worker may have held the row.
  claims smallint not null default 0,
  maybe_sent boolean not null default false,
  -- To be sent although the lane's circuit is open: the first attempt of a test send.
  at_once boolean not null default false
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
-- Without the workspace: polling serves all of them.
create index queue_due on posthorn.queue (shard, due_at, delivery_id);
create index queue_endpoint on posthorn.queue (workspace_id, endpoint_id, due_at, delivery_id);
alter table posthorn.queue add primary key (workspace_id, delivery_id);

-- Domains: with checks in the table, each call of record takes 24 us more.
create domain posthorn.ordinal as smallint check (value >= 1);
create domain posthorn.attempt_status as text collate "C" check (value in ('delivered', 'failed', 'failed_permanent'));
create domain posthorn.duration_ms as integer check (value >= 0);
create domain posthorn.failure_reason as text collate "C" check (value in ('http_status', 'request_timeout', 'connection_failed',
  'dns_failed', 'tls_failed', 'invalid_response', 'invalid_url', 'proxy_failed', 'auth_failed'));
create domain posthorn.failure_detail as text collate "C" check (value in ('refused', 'reset', 'unreachable', 'closed_early',
  'connect_timeout', 'certificate_expired', 'certificate_not_yet_valid', 'wrong_host', 'unknown_issuer', 'incomplete_chain',
  'self_signed', 'tls_version', 'not_tls', 'tls_other'));
create domain posthorn.sent_url as text check (length(value) <= 2048);
create domain posthorn.kept_headers as text check (octet_length(value) <= 8192);
create domain posthorn.kept_body as text check (octet_length(value) <= 2048);

-- No foreign key (8 us of 45 for each row): posthorn.record changes the delivery in the same statement.
create table posthorn.attempts (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  ordinal posthorn.ordinal not null,
  id text collate "C" not null,
  status posthorn.attempt_status not null,
  at timestamptz(3) not null,
  duration_ms posthorn.duration_ms not null,
  http_status smallint,
  failure_reason posthorn.failure_reason,
  failure_detail posthorn.failure_detail,
  -- The URL of the request, or the endpoint's if the request was refused.
  url posthorn.sent_url not null,
  request_headers text not null,
  response_headers posthorn.kept_headers,
  response_body posthorn.kept_body,
  trace_id text collate "C" not null,
  primary key (workspace_id, delivery_id, ordinal),
  check ((status = 'delivered') = (failure_reason is null))
);

-- Starts of attempts under a rate limit, kept for the longest window (posthorn.starts_since). `unrecorded <n>` stands for
-- attempts that a dead owner may have begun.
create table posthorn.attempt_starts (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  at timestamptz(3) not null,
  id text collate "C" not null,
  primary key (workspace_id, endpoint_id, at, id)
);

create table posthorn.dead_letters (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  -- Claimed too often: `never_sent` if it certainly was not sent, else `no_outcome`.
  reason text collate "C" not null default 'retries_spent'
    check (reason in ('retries_spent', 'no_outcome', 'never_sent')),
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (workspace_id, delivery_id),
  foreign key (workspace_id, delivery_id) references posthorn.deliveries on delete cascade
);

create table posthorn.notifications (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null default posthorn.new_id('ntf_'),
  kind text not null check (kind in ('delivery_dead_lettered', 'endpoint_disabled')),
  message text not null,
  endpoint_id text collate "C",
  delivery_id text collate "C",
  read_at timestamptz(3),
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (workspace_id, id)
);
create index notifications_newest on posthorn.notifications (workspace_id, created_at desc, id desc);
create index notifications_endpoint on posthorn.notifications (workspace_id, endpoint_id, created_at desc, id desc);
create unique index notifications_once on posthorn.notifications (workspace_id, delivery_id)
  where kind = 'delivery_dead_lettered';
create index notifications_unread on posthorn.notifications (workspace_id, id) where read_at is null;

create table posthorn.audit_events (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null default posthorn.new_id('aud_'),
  action text not null,
  actor_type text not null check (actor_type in ('api_token', 'operator', 'member', 'system')),
  actor_id text not null,
  actor_name text,
  root_type text check (root_type in ('operator', 'api_token', 'member')),
  root_id text,
  via text not null check (via in ('rest', 'mcp', 'console', 'worker', 'sql')),
  target_type text not null,
  target_id text not null,
  changes json,
  trace_id text collate "C" not null,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (workspace_id, id),
  check ((root_type is null) = (root_id is null))
);
create index audit_events_newest on posthorn.audit_events (workspace_id, created_at desc, id desc);
-- A replay job writes one audit event for each delivery: without this index, finding a target's events would scan them all.
create index audit_events_target on posthorn.audit_events (workspace_id, target_id, created_at desc, id desc);
create index audit_events_keys on posthorn.audit_events (created_at)
  where action in ('webhook.endpoint_created', 'webhook.endpoint_updated', 'webhook.endpoint_deleted', 'webhook.secret_rotated');

create table posthorn.operator_audit_events (
  id text collate "C" primary key default posthorn.new_id('aud_'),
  action text not null check (action in ('workspace.created', 'workspace.updated', 'workspace.deleted', 'event_type.created',
    'event_type.updated', 'event_type.deleted')),
  actor_type text not null check (actor_type = 'operator'),
  actor_id text not null,
  actor_name text,
  root_type text check (root_type in ('operator', 'api_token', 'member')),
  root_id text,
  via text not null check (via in ('rest', 'mcp', 'console', 'worker', 'sql')),
  target_type text not null,
  target_id text not null,
  changes json,
  trace_id text collate "C" not null,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
);
create index operator_audit_events_newest on posthorn.operator_audit_events (created_at desc, id desc);

create function posthorn.refuse_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'posthorn.% is evidence: % is refused', tg_table_name, lower(tg_op) using errcode = 'PH001';
end $$;

-- Purging an event may erase what its receivers answered (0009_evidence.sql).
create function posthorn.refuse_all_but_purging() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  old.response_headers := null;
  old.response_body := null;
  if new is distinct from old or not exists (
    select from posthorn.deliveries d join posthorn.events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    where d.workspace_id = old.workspace_id and d.id = old.delivery_id and e.purged_at is not null
  ) then
    raise exception 'posthorn.% is evidence: % is refused', tg_table_name, lower(tg_op) using errcode = 'PH001';
  end if;
  return new;
end $$;

create function posthorn.refuse_removal() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from posthorn.workspaces where id = old.workspace_id) then
    raise exception 'posthorn.% is evidence: rows are never removed', tg_table_name using errcode = 'PH001';
  end if;
  return old;
end $$;

-- Publishers lock the endpoint until they commit, so these statements see all of its rows. Under `repeatable read` they
-- could miss some.
create function posthorn.remove_deliveries() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from posthorn.attempt_starts b using removed r where b.workspace_id = r.workspace_id and b.endpoint_id = r.id;
  delete from posthorn.missed_events m using removed r
  where m.workspace_id = r.workspace_id and m.endpoint_id = r.id
    and not exists (select from posthorn.deleted_endpoints d where d.workspace_id = r.workspace_id and d.endpoint_id = r.id);
  delete from posthorn.deliveries d using removed r
  where d.workspace_id = r.workspace_id and d.endpoint_id = r.id
    and not exists (select from posthorn.deleted_endpoints d where d.workspace_id = r.workspace_id and d.endpoint_id = r.id);
  return null;
end $$;

create function posthorn.remove_events() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from posthorn.events e using removed r where e.workspace_id = r.id;
  return null;
end $$;

create function posthorn.remove_queued() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from posthorn.queue q using (
    select q.* from removed d cross join lateral (
      select q.ctid as tid, q.delivery_id from posthorn.queue q
      where q.workspace_id = d.workspace_id and q.delivery_id = d.id offset 0
    ) q
  ) of_removed where q.ctid = of_removed.tid and q.delivery_id is not distinct from of_removed.delivery_id;
  return null;
end $$;

create function posthorn.remove_attempts() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from posthorn.attempts a using (
    select a.* from removed d cross join lateral (
      select a.ctid as tid, a.delivery_id from posthorn.attempts a
      where a.workspace_id = d.workspace_id and a.delivery_id = d.id offset 0
    ) a
  ) of_removed where a.ctid = of_removed.tid and a.delivery_id is not distinct from of_removed.delivery_id;
  return null;
end $$;

create function posthorn.refuse_lone_removal() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  if exists (
    select from removed r cross join lateral (
      select from posthorn.deliveries d where d.workspace_id = r.workspace_id and d.id = r.delivery_id offset 0
    ) living
  ) then
    raise exception 'posthorn.% is evidence: rows go with their delivery only', tg_table_name using errcode = 'PH001';
  end if;
  return null;
end $$;

create trigger deliveries_follow after delete on posthorn.endpoints
  referencing old table as removed for each statement execute function posthorn.remove_deliveries();
create trigger events_follow after delete on posthorn.workspaces
  referencing old table as removed for each statement execute function posthorn.remove_events();
create trigger queue_follows after delete on posthorn.deliveries
  referencing old table as removed for each statement execute function posthorn.remove_queued();
create trigger attempts_follow after delete on posthorn.deliveries
  referencing old table as removed for each statement execute function posthorn.remove_attempts();
create trigger attempts_kept after delete on posthorn.attempts
  referencing old table as removed for each statement execute function posthorn.refuse_lone_removal();
create trigger attempts_immutable before update on posthorn.attempts
  for each row execute function posthorn.refuse_all_but_purging();
create trigger operator_audit_events_immutable before update or delete on posthorn.operator_audit_events
  for each row execute function posthorn.refuse_change();
create trigger audit_events_immutable before update on posthorn.audit_events
  for each row execute function posthorn.refuse_change();
create trigger audit_events_kept before delete on posthorn.audit_events
  for each row execute function posthorn.refuse_removal();

-- `truncate` fires no triggers for rows.
create trigger events_not_emptied before truncate on posthorn.events execute function posthorn.refuse_change();
create trigger deliveries_not_emptied before truncate on posthorn.deliveries execute function posthorn.refuse_change();
create trigger attempts_not_emptied before truncate on posthorn.attempts execute function posthorn.refuse_change();
create trigger audit_events_not_emptied before truncate on posthorn.audit_events execute function posthorn.refuse_change();
create trigger operator_audit_events_not_emptied before truncate on posthorn.operator_audit_events
  execute function posthorn.refuse_change();

create function posthorn.keep_subscriptions() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    delete from posthorn.subscriptions where workspace_id = new.workspace_id and endpoint_id = new.id;
  end if;
  insert into posthorn.subscriptions (workspace_id, pattern, endpoint_id)
    select distinct new.workspace_id, pattern, new.id from unnest(new.event_types) as pattern;
  return null;
end $$;

create trigger endpoints_subscriptions after insert or update of event_types on posthorn.endpoints
  for each row execute function posthorn.keep_subscriptions();
