-- The tables. Every key and index leads with workspace_id, so that no statement can mix workspaces by accident, and the schema
-- could be partitioned by workspace. The schema test names the few exceptions with their reasons. Ids are text that sorts by
-- creation; they compare bytewise whatever the database's locale.

-- An id: prefix, 13 hex digits of microseconds since 1970, 16 of randomness, the second half of a v4 UUID (its first digit
-- is one of four). `@posthorn/domain/Ids` makes the same in TypeScript. It is one expression, so that PostgreSQL inlines it
-- into the statement: 2 us instead of 7.
create function posthorn.id_of(prefix text, microseconds bigint) returns text language sql volatile parallel safe
  return prefix || lpad(to_hex(microseconds), 13, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17);

create function posthorn.new_id(prefix text) returns text language sql volatile parallel safe
  return posthorn.id_of(prefix, (date_part('epoch', clock_timestamp()) * 1000000)::bigint);

-- The moment of an id, truncated to milliseconds: the `created_at` of an event or a delivery. So rows ordered by id are ordered
-- by (created_at, id) too, and no index needs the time beside the id.
create function posthorn.made_at(id text) returns timestamptz language sql immutable parallel safe
  return to_timestamp((('x' || substr(id, 5, 13))::bit(52)::bigint / 1000)::float8 / 1000);

-- The common beginning of the ids of all deliveries that publishing made from an event: they share its microsecond. Replays do
-- not.
create function posthorn.deliveries_begin(event_id text) returns text language sql immutable parallel safe
  return 'whd_' || substr(event_id, 5, 13);

-- Which delivery policy holds for an endpoint, by its own and its workspace's: the same number for the same two, 0 for none.
create function posthorn.policy_version(own jsonb, inherited jsonb) returns bigint language sql stable parallel safe
  return case when own is null and inherited is null then 0 else hash_record_extended(row(own, inherited), 0) end;

-- The trace id of an event that was published without one.
create function posthorn.own_trace(event_id text) returns text language sql immutable parallel safe
  return substr(event_id, 5) || '000';

create table posthorn.workspaces (
  id text collate "C" primary key,
  slug text collate "C" not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$'),
  name text not null check (length(name) between 1 and 200),
  -- Its own quotas; null means the installation's (0010_quotas.sql).
  waiting_limit bigint check (waiting_limit >= 1),
  bytes_limit bigint check (bytes_limit >= 1),
  -- Its own limits; null: the installation's.
  endpoints_limit integer check (endpoints_limit >= 1),
  tokens_limit integer check (tokens_limit >= 1),
  publish_per_minute integer check (publish_per_minute >= 1),
  -- The quota that it had used up at the last count. Publishing reads this column and does not count.
  used_up text check (used_up in ('waiting', 'bytes')),
  -- The delivery policy for endpoints that leave something out; null means the default. Validated by its writers.
  policy jsonb,
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
  -- Who made it; null in tokens older than these columns.
  created_by_type text check (created_by_type in ('operator', 'api_token', 'member')),
  created_by_id text collate "C",
  -- The nearest token before it in its chain, and the console session it was made in; null if there is none.
  parent_id text collate "C",
  session_id text collate "C",
  -- The root of its chain of tokens, links and sessions; null if the operator made it.
  root_type text check (root_type in ('operator', 'api_token', 'member')),
  root_id text collate "C",
  primary key (workspace_id, id),
  check ((created_by_type is null) = (created_by_id is null)),
  check ((root_type is null) = (root_id is null))
);
-- This lookup cannot know the workspace: the token determines it.
create unique index api_tokens_lookup on posthorn.api_tokens (id);
create index api_tokens_newest on posthorn.api_tokens (workspace_id, created_at desc, id desc);
-- For counting the valid tokens, however many were revoked or have expired.
create index api_tokens_open on posthorn.api_tokens (workspace_id, (coalesce(expires_at, 'infinity'::timestamptz)))
  where revoked_at is null;
-- The tokens made by a token or a session, for revoking descendants.
create index api_tokens_parent on posthorn.api_tokens (workspace_id, parent_id) where parent_id is not null;
create index api_tokens_session on posthorn.api_tokens (workspace_id, session_id) where session_id is not null;

create table posthorn.members (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  email text not null check (length(email) <= 254),
  -- The address in lower case, so that two members of a workspace never differ only in case.
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
  -- The platform's own name for it, and what else the platform notes of it.
  external_id text collate "C" check (external_id ~ '^[A-Za-z0-9_.:-]{1,128}$'),
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  enabled boolean not null,
  disabled_reason text check (disabled_reason in ('manual', 'consecutive_failures', 'failing_for', 'gone')),
  -- Start of the present or latest disabled period; missed events are counted from here.
  disabled_at timestamptz(3),
  consecutive_failures integer not null default 0,
  -- When the first failure of the present streak was recorded; null while there is none.
  failing_since timestamptz(3),
  -- Raised whenever it is enabled again: attempts begun under an older generation no longer count towards the streak.
  generation integer not null default 0,
  -- The signing secret and, once a key pair signs too, its private key, as one text: AES-256-GCM, bound to this row; see
  -- SecretBox. The previous ones sign too until they expire.
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamptz(3),
  -- The public keys of those key pairs, Ed25519; null without one.
  public_key bytea check (length(public_key) = 32),
  previous_public_key bytea check (length(previous_public_key) = 32),
  -- The delivery policy; null means the workspace's. Validated by its writers.
  policy jsonb,
  -- What its requests look like, and the secrets in them, sealed as one text; null means as always. Validated by its writers.
  request jsonb,
  request_secrets bytea,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (workspace_id, id),
  check (enabled = (disabled_reason is null)),
  check ((previous_secret is null) = (previous_secret_expires_at is null)),
  check (previous_public_key is null or (public_key is not null and previous_secret is not null))
) with (fillfactor = 80);
-- Of names alone: a plan for an endpoint's id must not take it.
create unique index endpoints_external_id on posthorn.endpoints (workspace_id, external_id) where external_id is not null;

-- Which endpoints subscribe to what: one row per pattern, maintained by the trigger below, so that matching an event costs a
-- few index probes however many endpoints a workspace has.
create table posthorn.subscriptions (
  workspace_id text collate "C" not null,
  pattern text collate "C" not null,
  endpoint_id text collate "C" not null,
  primary key (workspace_id, pattern, endpoint_id),
  foreign key (workspace_id, endpoint_id) references posthorn.endpoints on delete cascade
);
create index subscriptions_endpoint on posthorn.subscriptions (workspace_id, endpoint_id);

-- Events, deliveries and the queue have no foreign keys. A publish locks the endpoints it goes to, or else its workspace, and
-- this protects everything it stores. Foreign keys would look up and lock the same rows again for each row: 25 us of a publish
-- that takes 110. Deleting still cascades, by the triggers below.
create table posthorn.events (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  event_type text collate "C" not null,
  -- The exact text that was published; jsonb would reorder members and respell numbers.
  payload text not null,
  trace_id text collate "C" not null,
  -- The result of publishing: the number of deliveries, and of matching endpoints that were disabled at that moment.
  deliveries integer not null,
  missed integer not null,
  -- Who published it: type, transport and id, separated by spaces.
  actor text collate "C" not null,
  -- When its payload was blanked; the payload is `null` since.
  purged_at timestamptz(3),
  created_at timestamptz(3) not null
-- Vacuumed after few rows, since a vacuum reads only new pages. Until then, counting a type's last day in the index below has
-- to read each row too: 7 us instead of 0.2 (a million events of one day in 40 types: 7.2 s instead of 0.2 s).
) with (autovacuum_vacuum_insert_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0);
-- For the events of one type, newest first, and for the list of types: one probe for each type, however many events it has.
create index events_type on posthorn.events (workspace_id, event_type, id desc);
-- Posthorn's own trace ids begin with the time, so that new ones are close together: random ones cost 27 times the WAL. Trace
-- ids made from the event's id are left out: they contain the id. The condition repeats the expression of own_trace: calling
-- the function would make each insert inline it, 12 us of a lone publish.
create index events_trace on posthorn.events (workspace_id, trace_id) where trace_id <> substr(id, 5) || '000';
-- The primary key is created last: among indexes with equal estimated cost PostgreSQL takes the newest, and while statistics
-- say that a table is empty, all costs are equal. With another index, looking up a row by its key would read all rows of the
-- workspace.
alter table posthorn.events add primary key (workspace_id, id);

-- Events that matched an endpoint while it was disabled, and that have no delivery to it.
create table posthorn.missed_events (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  -- Of the event.
  created_at timestamptz(3) not null,
  -- The transaction that published it: a replay job covers only what had been missed when it was started.
  missed_by xid8 not null default pg_current_xact_id(),
  primary key (workspace_id, endpoint_id, created_at, event_id),
  foreign key (workspace_id, endpoint_id) references posthorn.endpoints on delete cascade,
  foreign key (workspace_id, event_id) references posthorn.events on delete cascade
);
create index missed_events_event on posthorn.missed_events (workspace_id, event_id);

create table posthorn.idempotency_keys (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  key text collate "C" not null,
  -- SHA-256 of event type and payload without insignificant white space.
  fingerprint bytea not null,
  event_id text collate "C" not null,
  delivery_ids text[] not null default '{}',
  created_at timestamptz(3) not null,
  primary key (workspace_id, key)
);
create index idempotency_keys_age on posthorn.idempotency_keys (workspace_id, created_at);

-- Whole answers kept under callers' idempotency keys. The keys of single publishes are in the table above.
create table posthorn.idempotent_answers (
  -- Null for the operator's calls outside of workspaces.
  workspace_id text collate "C" references posthorn.workspaces on delete cascade,
  caller text collate "C" not null,
  key text collate "C" not null,
  -- HMAC of operation, path and body under a master key (see SecretBox): bodies may hold secrets.
  fingerprint bytea not null,
  status smallint not null,
  headers json not null,
  body text,
  -- The sealed body if it contains a secret (see SecretBox). Erased after ten minutes.
  sealed bytea,
  -- Until then the call may still go on after its change, such as a test send that waits for its outcome.
  running_until timestamptz(3),
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  constraint idempotent_answers_key unique nulls not distinct (workspace_id, caller, key),
  check (body is null or sealed is null)
);
create index idempotent_answers_age on posthorn.idempotent_answers (workspace_id, created_at);
create index idempotent_answers_sealed on posthorn.idempotent_answers (workspace_id, created_at) where sealed is not null;

-- The summary of each delivery. It has no index on status or next_attempt_at: the queue decides what is due, and updates of
-- this wide row stay cheap. The status is a domain, because each insert parses a table's check anew (20 us of a lone publish),
-- but a domain's check only once.
create domain posthorn.delivery_status as text collate "C"
  check (value in ('pending', 'delivered', 'failed', 'failed_permanent', 'dead_lettered'));

create table posthorn.deliveries (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- Null only for a test send, which has no event.
  event_id text collate "C",
  event_type text collate "C" not null,
  -- Only for a test send. An event's payload and actor are stored once, with the event.
  payload text,
  actor text collate "C",
  trace_id text collate "C" not null,
  status posthorn.delivery_status not null default 'pending',
  attempts smallint not null default 0,
  next_attempt_at timestamptz(3),
  -- No foreign key: a replay may outlive its source.
  replayed_from text collate "C",
  -- The replay job that made it; null if no job did.
  replay_id text collate "C",
  last_http_status smallint,
  last_failure_reason text collate "C",
  last_duration_ms integer,
  last_attempt_at timestamptz(3),
  -- Why it was dead-lettered; null unless it was.
  dead_letter_reason text collate "C",
  created_at timestamptz(3) not null
-- Each delivery is written twice within moments: when it is published and when its attempt is recorded. With half of each page
-- left free, the second version fits beside the first and no index has to be updated: 89 % of the updates instead of 19 %,
-- 2,014 bytes of WAL per delivery instead of 2,813, the same size on disk after a burst (measured with 30,000 deliveries of 500
-- bytes, PostgreSQL 18).
) with (fillfactor = 55);
-- The newest deliveries of a workspace are at the end of its primary key. Ascending keys, added at the end of their run, leave
-- full pages behind.
create index deliveries_endpoint on posthorn.deliveries (workspace_id, endpoint_id, id);
-- For the replays of one event. Deliveries that publishing made are found by the event's id (deliveries_of_event).
create index deliveries_event on posthorn.deliveries (workspace_id, event_id, endpoint_id, id)
  where replayed_from is not null or replay_id is not null;
-- For deliveries that have their own trace id. The others have their event's.
create index deliveries_trace on posthorn.deliveries (workspace_id, trace_id)
  where event_id is null or replayed_from is not null or replay_id is not null;
-- A test send has no event to find its replays by.
create index deliveries_source on posthorn.deliveries (workspace_id, replayed_from) where event_id is null;
-- Created last, as for events.
alter table posthorn.deliveries add primary key (workspace_id, id);

-- All deliveries of one event, replays included.
create function posthorn.deliveries_of_event(workspace text, event text) returns setof text language sql stable
begin atomic
  select d.id from posthorn.deliveries d
  where d.workspace_id = workspace and d.id >= posthorn.deliveries_begin(event) and d.id < posthorn.deliveries_begin(event) || 'g'
    and d.event_id = event and d.replayed_from is null and d.replay_id is null
  union all
  select d.id from posthorn.deliveries d
  where d.workspace_id = workspace and d.event_id = event and (d.replayed_from is not null or d.replay_id is not null);
end;

-- Deliveries of an endpoint (null: of the workspace), newest first, below an id.
--
-- A function, so that it is planned once per connection. Whatever the statistics say, it must walk the index whose order it
-- asks for. So it hides that `endpoint_id` equals a value: otherwise the primary key would have that order too, and could be
-- chosen.
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

-- The outbox: a narrow row for each delivery that still has work to do, gone when it has none.
create table posthorn.queue (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- A hash of the endpoint. A shard, and so an endpoint, belongs to one worker at a time.
  shard smallint not null,
  due_at timestamptz not null,
  attempts smallint not null default 0,
  -- Claims in a row without a recorded observation. Stored only if a worker may have died holding the row.
  claims smallint not null default 0,
  -- Whether the delivery may have been sent under one of these claims.
  maybe_sent boolean not null default false,
  -- Whether it goes out although its lane pauses: the first attempt of a test send.
  at_once boolean not null default false
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
-- Polling serves all workspaces at once, so this index cannot lead with the workspace.
create index queue_due on posthorn.queue (shard, due_at, delivery_id);
create index queue_endpoint on posthorn.queue (workspace_id, endpoint_id, due_at, delivery_id);
-- Created last, as for events.
alter table posthorn.queue add primary key (workspace_id, delivery_id);

-- Types for an attempt's columns. They are domains like delivery_status: with checks in the table, each call of record takes 24
-- us more.
create domain posthorn.ordinal as smallint check (value >= 1);
create domain posthorn.attempt_status as text collate "C" check (value in ('delivered', 'failed', 'failed_permanent'));
create domain posthorn.duration_ms as integer check (value >= 0);
create domain posthorn.failure_reason as text collate "C" check (value in ('http_status', 'request_timeout', 'connection_failed',
  'dns_failed', 'tls_failed', 'invalid_response', 'invalid_url', 'proxy_failed', 'auth_failed'));
create domain posthorn.sent_url as text check (length(value) <= 2048);
create domain posthorn.kept_headers as text check (octet_length(value) <= 8192);
create domain posthorn.kept_body as text check (octet_length(value) <= 2048);

-- One row per HTTP attempt. The database refuses to change it, and removes it with its delivery (attempts_follow). There is no
-- foreign key: it would look the delivery up again for each row, 8 us of the 45 that recording one costs. posthorn.record, the
-- only writer, changes the delivery in the same statement, so it exists.
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
  -- The URL of the request. If it was refused, the endpoint's URL at that time.
  url posthorn.sent_url not null,
  request_headers text not null,
  -- A JSON object of the few kept headers; null if there are none.
  response_headers posthorn.kept_headers,
  response_body posthorn.kept_body,
  trace_id text collate "C" not null,
  primary key (workspace_id, delivery_id, ordinal),
  check ((status = 'delivered') = (failure_reason is null))
);

-- When attempts of endpoints with a rate began, for an hour, the longest window (posthorn.starts_since). An attempt's id, or `unrecorded <n>`
-- for one that an owner of its shard may have begun before it died. There is no foreign key, as for attempts.
create table posthorn.attempt_starts (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  at timestamptz(3) not null,
  id text collate "C" not null,
  primary key (workspace_id, endpoint_id, at, id)
);

-- The dead-letter queue: deliveries that were given up and are not yet marked by the dead-letter consumer.
create table posthorn.dead_letters (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  -- Its retries are spent; or it was claimed too often without an outcome, and was either possibly sent or certainly not sent.
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
create unique index notifications_once on posthorn.notifications (workspace_id, delivery_id)
  where kind = 'delivery_dead_lettered';
create index notifications_unread on posthorn.notifications (workspace_id, id) where read_at is null;

create table posthorn.audit_events (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null default posthorn.new_id('aud_'),
  action text not null,
  actor_type text not null check (actor_type in ('api_token', 'operator', 'member', 'system')),
  actor_id text not null,
  -- The name that the token, the member or the operator had then; null if it had none.
  actor_name text,
  -- The root of the actor's chain of tokens, links and sessions; null if it has none.
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
-- For the changes of one endpoint, newest first, however long the workspace's audit log is: a bulk replay alone writes one
-- event for each delivery.
create index audit_events_target on posthorn.audit_events (workspace_id, target_id, created_at desc, id desc);
-- Whose public keys may have changed lately, of all workspaces.
create index audit_events_keys on posthorn.audit_events (created_at)
  where action in ('webhook.endpoint_created', 'webhook.endpoint_updated', 'webhook.endpoint_deleted', 'webhook.secret_rotated');

-- The operator's acts on workspaces. They outlive the workspaces, so they belong to none.
create table posthorn.operator_audit_events (
  id text collate "C" primary key default posthorn.new_id('aud_'),
  action text not null check (action in ('workspace.created', 'workspace.updated', 'workspace.deleted')),
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

-- The one thing that an attempt may lose is what its receiver answered, once its event has been purged (0009_evidence.sql).
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
  -- Rows may be deleted only together with their workspace, which the cascade has removed by then.
  if exists (select from posthorn.workspaces where id = old.workspace_id) then
    raise exception 'posthorn.% is evidence: rows are never removed', tg_table_name using errcode = 'PH001';
  end if;
  return old;
end $$;

-- Deleting an endpoint deletes its deliveries, and deleting a workspace its events. These statements see all committed rows,
-- because publishers lock the endpoint until they commit. (A transaction with an older snapshot, as under `repeatable read`,
-- would leave some behind.)
create function posthorn.remove_deliveries() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from posthorn.attempt_starts b using removed r where b.workspace_id = r.workspace_id and b.endpoint_id = r.id;
  delete from posthorn.deliveries d using removed r where d.workspace_id = r.workspace_id and d.endpoint_id = r.id;
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

-- Looks up each delivery by key, whatever the statistics say: the connection keeps this plan.
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

-- Attempts may be deleted only with their delivery, which is gone by then.
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
