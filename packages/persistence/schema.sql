-- What all migrations together make, for reading: migrations/ is what is run, and has the reasons and the functions' bodies.
-- Written by `npm test -- SchemaFile -u`, never by hand.

create domain posthorn.attempt_status as text collate "C" CHECK ((VALUE = ANY (ARRAY['delivered'::text, 'failed'::text, 'failed_permanent'::text])));
create domain posthorn.delivery_status as text collate "C" CHECK ((VALUE = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'failed_permanent'::text, 'dead_lettered'::text])));
create domain posthorn.duration_ms as integer CHECK ((VALUE >= 0));
create domain posthorn.failure_detail as text collate "C" CHECK ((VALUE = ANY (ARRAY['refused'::text, 'reset'::text, 'unreachable'::text, 'closed_early'::text, 'connect_timeout'::text, 'certificate_expired'::text, 'certificate_not_yet_valid'::text, 'wrong_host'::text, 'unknown_issuer'::text, 'incomplete_chain'::text, 'self_signed'::text, 'tls_version'::text, 'not_tls'::text, 'tls_other'::text])));
create domain posthorn.failure_reason as text collate "C" CHECK ((VALUE = ANY (ARRAY['http_status'::text, 'request_timeout'::text, 'connection_failed'::text, 'dns_failed'::text, 'tls_failed'::text, 'invalid_response'::text, 'invalid_url'::text, 'proxy_failed'::text, 'auth_failed'::text])));
create domain posthorn.kept_body as text CHECK ((octet_length(VALUE) <= 2048));
create domain posthorn.kept_headers as text CHECK ((octet_length(VALUE) <= 8192));
create domain posthorn.ordinal as smallint CHECK ((VALUE >= 1));
create domain posthorn.sent_url as text CHECK ((length(VALUE) <= 2048));

create table posthorn.alert_counts (
  workspace_id text collate "C" not null,
  cause text collate "C" not null,
  endpoint_id text collate "C" not null,
  times integer not null default 0,
  constraint alert_counts_pkey PRIMARY KEY (workspace_id, cause, endpoint_id),
  constraint alert_counts_workspace_id_cause_fkey FOREIGN KEY (workspace_id, cause) REFERENCES posthorn.alert_hours(workspace_id, cause) ON DELETE CASCADE
);

create table posthorn.alert_hours (
  workspace_id text collate "C" not null,
  cause text collate "C" not null,
  began_at timestamp(3) with time zone not null,
  told integer not null default 0,
  constraint alert_hours_pkey PRIMARY KEY (workspace_id, cause),
  constraint alert_hours_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE
);
CREATE INDEX alert_hours_oldest ON posthorn.alert_hours USING btree (began_at);

create table posthorn.alert_notes (
  workspace_id text collate "C" not null,
  id text collate "C" not null default posthorn.new_id('not_'::text),
  cause text collate "C" not null,
  endpoint_id text collate "C" not null,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint alert_notes_pkey PRIMARY KEY (workspace_id, id),
  constraint alert_notes_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE
);

create table posthorn.alerts (
  workspace_id text collate "C" not null,
  id text collate "C" not null default posthorn.new_id('alr_'::text),
  kind text collate "C" not null,
  cause text collate "C" not null,
  recipient text not null,
  endpoint_id text collate "C",
  happened_at timestamp(3) with time zone not null,
  digest jsonb,
  state text collate "C" not null default 'pending'::text,
  attempts smallint not null default 0,
  last_error text,
  due_at timestamp(3) with time zone not null default clock_timestamp(),
  sent_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint alerts_pkey PRIMARY KEY (workspace_id, id),
  constraint alerts_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint alerts_kind_check CHECK ((kind = ANY (ARRAY['email'::text, 'slack'::text]))),
  constraint alerts_last_error_check CHECK ((length(last_error) <= 200)),
  constraint alerts_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text])))
);
CREATE INDEX alerts_age ON posthorn.alerts USING btree (created_at);
CREATE INDEX alerts_newest ON posthorn.alerts USING btree (workspace_id, created_at DESC, id DESC);
CREATE INDEX alerts_pending ON posthorn.alerts USING btree (workspace_id, kind, due_at) WHERE (state = 'pending'::text);

create table posthorn.api_tokens (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  scopes text[] not null,
  secret_hash bytea not null,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  expires_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_by_type text,
  created_by_id text collate "C",
  parent_id text collate "C",
  session_id text collate "C",
  root_type text,
  root_id text collate "C",
  constraint api_tokens_pkey PRIMARY KEY (workspace_id, id),
  constraint api_tokens_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint api_tokens_check CHECK (((created_by_type IS NULL) = (created_by_id IS NULL))),
  constraint api_tokens_check1 CHECK (((root_type IS NULL) = (root_id IS NULL))),
  constraint api_tokens_created_by_type_check CHECK ((created_by_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint api_tokens_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint api_tokens_root_type_check CHECK ((root_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint api_tokens_scopes_check CHECK ((cardinality(scopes) > 0)),
  constraint api_tokens_secret_hash_check CHECK ((length(secret_hash) = 32))
);
CREATE UNIQUE INDEX api_tokens_lookup ON posthorn.api_tokens USING btree (id);
CREATE INDEX api_tokens_newest ON posthorn.api_tokens USING btree (workspace_id, created_at DESC, id DESC);
CREATE INDEX api_tokens_open ON posthorn.api_tokens USING btree (workspace_id, COALESCE(expires_at, 'infinity'::timestamp with time zone)) WHERE (revoked_at IS NULL);
CREATE INDEX api_tokens_parent ON posthorn.api_tokens USING btree (workspace_id, parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX api_tokens_session ON posthorn.api_tokens USING btree (workspace_id, session_id) WHERE (session_id IS NOT NULL);

create table posthorn.attempt_starts (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  at timestamp(3) with time zone not null,
  id text collate "C" not null,
  constraint attempt_starts_pkey PRIMARY KEY (workspace_id, endpoint_id, at, id)
);

create table posthorn.attempts (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  ordinal posthorn.ordinal not null,
  id text collate "C" not null,
  status posthorn.attempt_status not null,
  at timestamp(3) with time zone not null,
  duration_ms posthorn.duration_ms not null,
  http_status smallint,
  failure_reason posthorn.failure_reason,
  failure_detail posthorn.failure_detail,
  url posthorn.sent_url not null,
  request_headers text not null,
  response_headers posthorn.kept_headers,
  response_body posthorn.kept_body,
  trace_id text collate "C" not null,
  constraint attempts_pkey PRIMARY KEY (workspace_id, delivery_id, ordinal),
  constraint attempts_check CHECK ((((status)::text = 'delivered'::text) = (failure_reason IS NULL)))
);
CREATE TRIGGER attempts_immutable BEFORE UPDATE ON posthorn.attempts FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_all_but_purging();
CREATE TRIGGER attempts_kept AFTER DELETE ON posthorn.attempts REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.refuse_lone_removal();
CREATE TRIGGER attempts_not_emptied BEFORE TRUNCATE ON posthorn.attempts FOR EACH STATEMENT EXECUTE FUNCTION posthorn.refuse_change();

create table posthorn.audit_events (
  workspace_id text collate "C" not null,
  id text collate "C" not null default posthorn.new_id('aud_'::text),
  action text not null,
  actor_type text not null,
  actor_id text not null,
  actor_name text,
  root_type text,
  root_id text,
  via text not null,
  target_type text not null,
  target_id text not null,
  changes json,
  trace_id text collate "C" not null,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint audit_events_pkey PRIMARY KEY (workspace_id, id),
  constraint audit_events_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint audit_events_actor_type_check CHECK ((actor_type = ANY (ARRAY['api_token'::text, 'operator'::text, 'member'::text, 'system'::text]))),
  constraint audit_events_check CHECK (((root_type IS NULL) = (root_id IS NULL))),
  constraint audit_events_root_type_check CHECK ((root_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint audit_events_via_check CHECK ((via = ANY (ARRAY['rest'::text, 'mcp'::text, 'console'::text, 'worker'::text, 'sql'::text])))
);
CREATE INDEX audit_events_keys ON posthorn.audit_events USING btree (created_at) WHERE (action = ANY (ARRAY['webhook.endpoint_created'::text, 'webhook.endpoint_updated'::text, 'webhook.endpoint_deleted'::text, 'webhook.secret_rotated'::text]));
CREATE INDEX audit_events_newest ON posthorn.audit_events USING btree (workspace_id, created_at DESC, id DESC);
CREATE INDEX audit_events_target ON posthorn.audit_events USING btree (workspace_id, target_id, created_at DESC, id DESC);
CREATE TRIGGER audit_events_immutable BEFORE UPDATE ON posthorn.audit_events FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER audit_events_kept BEFORE DELETE ON posthorn.audit_events FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_removal();
CREATE TRIGGER audit_events_not_emptied BEFORE TRUNCATE ON posthorn.audit_events FOR EACH STATEMENT EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER endpoints_told AFTER INSERT ON posthorn.audit_events FOR EACH ROW WHEN (new.action = ANY (ARRAY['webhook.endpoint_created'::text, 'webhook.endpoint_updated'::text, 'webhook.endpoint_deleted'::text, 'webhook.secret_rotated'::text])) EXECUTE FUNCTION posthorn.tell_of_change();

create table posthorn.catalogue (
  only_row boolean not null default true,
  version bigint not null default 0,
  constraint catalogue_pkey PRIMARY KEY (only_row),
  constraint catalogue_only_row_check CHECK (only_row)
);

create table posthorn.console_links (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  code_hash bytea not null,
  token_id text collate "C",
  member_id text collate "C",
  permissions text[],
  session_id text collate "C",
  operator_epoch text collate "C",
  made_by_type text not null,
  made_by_id text collate "C" not null,
  root_type text not null,
  root_id text collate "C" not null,
  view jsonb not null,
  expires_at timestamp(3) with time zone not null,
  constraint console_links_pkey PRIMARY KEY (workspace_id, id),
  constraint console_links_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint console_links_workspace_id_member_id_fkey FOREIGN KEY (workspace_id, member_id) REFERENCES posthorn.members(workspace_id, id) ON DELETE CASCADE,
  constraint console_links_workspace_id_session_id_fkey FOREIGN KEY (workspace_id, session_id) REFERENCES posthorn.console_sessions(workspace_id, id) ON DELETE CASCADE,
  constraint console_links_workspace_id_token_id_fkey FOREIGN KEY (workspace_id, token_id) REFERENCES posthorn.api_tokens(workspace_id, id) ON DELETE CASCADE,
  constraint console_links_code_hash_check CHECK ((length(code_hash) = 32)),
  constraint console_links_made_by_type_check CHECK ((made_by_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint console_links_root_type_check CHECK ((root_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint console_links_view_check CHECK ((jsonb_typeof(view) = 'object'::text))
);
CREATE INDEX console_links_expiry ON posthorn.console_links USING btree (workspace_id, expires_at);
CREATE UNIQUE INDEX console_links_lookup ON posthorn.console_links USING btree (code_hash);
CREATE INDEX console_links_member ON posthorn.console_links USING btree (workspace_id, member_id);
CREATE INDEX console_links_session ON posthorn.console_links USING btree (workspace_id, session_id);
CREATE INDEX console_links_token ON posthorn.console_links USING btree (workspace_id, token_id);

create table posthorn.console_sessions (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  secret_hash bytea not null,
  token_id text collate "C",
  member_id text collate "C",
  permissions text[],
  session_id text collate "C",
  operator_epoch text collate "C",
  made_by_type text not null,
  made_by_id text collate "C" not null,
  root_type text not null,
  root_id text collate "C" not null,
  view jsonb not null,
  via text not null,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  last_seen_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  expires_at timestamp(3) with time zone not null,
  ended_at timestamp(3) with time zone,
  constraint console_sessions_pkey PRIMARY KEY (workspace_id, id),
  constraint console_sessions_secret UNIQUE (workspace_id, secret_hash),
  constraint console_sessions_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint console_sessions_workspace_id_member_id_fkey FOREIGN KEY (workspace_id, member_id) REFERENCES posthorn.members(workspace_id, id) ON DELETE CASCADE,
  constraint console_sessions_workspace_id_session_id_fkey FOREIGN KEY (workspace_id, session_id) REFERENCES posthorn.console_sessions(workspace_id, id) ON DELETE CASCADE,
  constraint console_sessions_workspace_id_token_id_fkey FOREIGN KEY (workspace_id, token_id) REFERENCES posthorn.api_tokens(workspace_id, id) ON DELETE CASCADE,
  constraint console_sessions_made_by_type_check CHECK ((made_by_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint console_sessions_root_type_check CHECK ((root_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint console_sessions_secret_hash_check CHECK ((length(secret_hash) = 32)),
  constraint console_sessions_via_check CHECK ((via = ANY (ARRAY['link'::text, 'token'::text]))),
  constraint console_sessions_view_check CHECK ((jsonb_typeof(view) = 'object'::text))
);
CREATE INDEX console_sessions_expiry ON posthorn.console_sessions USING btree (workspace_id, expires_at);
CREATE INDEX console_sessions_made_by ON posthorn.console_sessions USING btree (workspace_id, made_by_type, made_by_id, created_at DESC, id DESC) WHERE (ended_at IS NULL);
CREATE INDEX console_sessions_member ON posthorn.console_sessions USING btree (workspace_id, member_id);
CREATE INDEX console_sessions_newest ON posthorn.console_sessions USING btree (workspace_id, created_at DESC, id DESC);
CREATE INDEX console_sessions_session ON posthorn.console_sessions USING btree (workspace_id, session_id);
CREATE INDEX console_sessions_token ON posthorn.console_sessions USING btree (workspace_id, token_id);

create table posthorn.daily_runs (
  job text collate "C" not null,
  day date not null,
  started_at timestamp(3) with time zone not null default clock_timestamp(),
  finished_at timestamp(3) with time zone,
  constraint daily_runs_pkey PRIMARY KEY (job, day)
);

create table posthorn.dead_letters (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  reason text collate "C" not null default 'retries_spent'::text,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint dead_letters_pkey PRIMARY KEY (workspace_id, delivery_id),
  constraint dead_letters_workspace_id_delivery_id_fkey FOREIGN KEY (workspace_id, delivery_id) REFERENCES posthorn.deliveries(workspace_id, id) ON DELETE CASCADE,
  constraint dead_letters_reason_check CHECK ((reason = ANY (ARRAY['retries_spent'::text, 'no_outcome'::text, 'never_sent'::text])))
);

create table posthorn.deleted_endpoints (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  constraint deleted_endpoints_pkey PRIMARY KEY (workspace_id, endpoint_id),
  constraint deleted_endpoints_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE
);

create table posthorn.deliveries (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C",
  event_type text collate "C" not null,
  payload text,
  actor text collate "C",
  trace_id text collate "C" not null,
  status posthorn.delivery_status not null default 'pending'::text,
  attempts smallint not null default 0,
  next_attempt_at timestamp(3) with time zone,
  replayed_from text collate "C",
  replay_id text collate "C",
  unsent_by xid8,
  last_http_status smallint,
  last_failure_reason text collate "C",
  last_duration_ms integer,
  last_attempt_at timestamp(3) with time zone,
  dead_letter_reason text collate "C",
  created_at timestamp(3) with time zone not null,
  constraint deliveries_pkey PRIMARY KEY (workspace_id, id)
) with (fillfactor=55);
CREATE INDEX deliveries_endpoint ON posthorn.deliveries USING btree (workspace_id, endpoint_id, id);
CREATE INDEX deliveries_event ON posthorn.deliveries USING btree (workspace_id, event_id, endpoint_id, id) WHERE ((replayed_from IS NOT NULL) OR (replay_id IS NOT NULL));
CREATE INDEX deliveries_source ON posthorn.deliveries USING btree (workspace_id, replayed_from) WHERE (event_id IS NULL);
CREATE INDEX deliveries_trace ON posthorn.deliveries USING btree (workspace_id, trace_id) WHERE ((event_id IS NULL) OR (replayed_from IS NOT NULL) OR (replay_id IS NOT NULL));
CREATE UNIQUE INDEX deliveries_unsent ON posthorn.deliveries USING btree (workspace_id, endpoint_id, event_id) WHERE (unsent_by IS NOT NULL);
CREATE TRIGGER attempts_follow AFTER DELETE ON posthorn.deliveries REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.remove_attempts();
CREATE TRIGGER deliveries_fail AFTER UPDATE OF status ON posthorn.deliveries FOR EACH ROW WHEN (old.status::text <> new.status::text AND (old.status::text = 'failed'::text OR (new.status::text = ANY (ARRAY['failed'::text, 'failed_permanent'::text, 'dead_lettered'::text])) OR new.status::text = 'delivered'::text AND new.replayed_from IS NOT NULL)) EXECUTE FUNCTION posthorn.note_failure();
CREATE TRIGGER deliveries_keep_ids BEFORE UPDATE OF workspace_id, id, endpoint_id ON posthorn.deliveries FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER deliveries_not_emptied BEFORE TRUNCATE ON posthorn.deliveries FOR EACH STATEMENT EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER failed_deliveries_follow AFTER DELETE ON posthorn.deliveries REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.forget_failures();
CREATE TRIGGER queue_follows AFTER DELETE ON posthorn.deliveries REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.remove_queued();
CREATE TRIGGER rollups_become_stale AFTER DELETE ON posthorn.deliveries REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.stale_rollups();

create table posthorn.deviations (
  workspace_id text collate "C" not null,
  event_type text collate "C" not null,
  day date not null,
  count bigint not null,
  since timestamp(3) with time zone not null,
  last_event_id text collate "C" not null,
  told_hours integer not null default 0,
  constraint deviations_pkey PRIMARY KEY (workspace_id, event_type, day),
  constraint deviations_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE
);
CREATE INDEX deviations_day ON posthorn.deviations USING btree (day);
CREATE INDEX deviations_of_type ON posthorn.deviations USING btree (event_type, day);

create table posthorn.ended_hours (
  hour timestamp(3) with time zone not null,
  seen_by xid8 not null,
  constraint ended_hours_pkey PRIMARY KEY (hour)
);

create table posthorn.endpoints (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  url text not null,
  description text,
  event_types text[] not null,
  external_id text collate "C",
  metadata jsonb not null default '{}'::jsonb,
  enabled boolean not null,
  disabled_reason text,
  disabled_at timestamp(3) with time zone,
  expired integer not null default 0,
  consecutive_failures integer not null default 0,
  failing_since timestamp(3) with time zone,
  recovers_from text,
  generation integer not null default 0,
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamp(3) with time zone,
  public_key bytea,
  previous_public_key bytea,
  policy jsonb,
  request jsonb,
  request_secrets bytea,
  filter json,
  filter_path jsonpath,
  filter_program jsonb,
  filter_weight integer,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  updated_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint endpoints_pkey PRIMARY KEY (workspace_id, id),
  constraint endpoints_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint endpoints_check CHECK ((enabled = (disabled_reason IS NULL))),
  constraint endpoints_check1 CHECK (((previous_secret IS NULL) = (previous_secret_expires_at IS NULL))),
  constraint endpoints_check2 CHECK (((previous_public_key IS NULL) OR ((public_key IS NOT NULL) AND (previous_secret IS NOT NULL)))),
  constraint endpoints_description_check CHECK ((length(description) <= 500)),
  constraint endpoints_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['manual'::text, 'consecutive_failures'::text, 'failing_for'::text, 'gone'::text]))),
  constraint endpoints_event_types_check CHECK (((cardinality(event_types) >= 1) AND (cardinality(event_types) <= 100))),
  constraint endpoints_external_id_check CHECK ((external_id ~ '^[A-Za-z0-9_.:-]{1,128}$'::text)),
  constraint endpoints_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text)),
  constraint endpoints_previous_public_key_check CHECK ((length(previous_public_key) = 32)),
  constraint endpoints_public_key_check CHECK ((length(public_key) = 32)),
  constraint endpoints_recovers_from_check CHECK ((recovers_from = ANY (ARRAY['failing'::text, 'enabling'::text]))),
  constraint endpoints_url_check CHECK ((length(url) <= 2048))
) with (fillfactor=80);
CREATE UNIQUE INDEX endpoints_external_id ON posthorn.endpoints USING btree (workspace_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX endpoints_filtered ON posthorn.endpoints USING btree (workspace_id, id) WHERE (filter_path IS NOT NULL);
CREATE TRIGGER deliveries_follow AFTER DELETE ON posthorn.endpoints REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.remove_deliveries();
CREATE TRIGGER endpoints_changed AFTER UPDATE OF url, policy, request, enabled ON posthorn.endpoints FOR EACH ROW WHEN (new.url <> old.url OR new.policy IS DISTINCT FROM old.policy OR new.request IS DISTINCT FROM old.request OR new.enabled AND NOT old.enabled) EXECUTE FUNCTION posthorn.tell_endpoint_changed();
CREATE TRIGGER endpoints_keep_ids BEFORE UPDATE OF workspace_id, id ON posthorn.endpoints FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER endpoints_subscriptions AFTER INSERT OR UPDATE OF event_types ON posthorn.endpoints FOR EACH ROW EXECUTE FUNCTION posthorn.keep_subscriptions();
CREATE TRIGGER endpoints_usable AFTER UPDATE OF enabled, secret, previous_secret, request, request_secrets ON posthorn.endpoints FOR EACH ROW WHEN (new.enabled AND (NOT old.enabled OR new.secret IS DISTINCT FROM old.secret OR new.previous_secret IS DISTINCT FROM old.previous_secret OR new.request IS DISTINCT FROM old.request OR new.request_secrets IS DISTINCT FROM old.request_secrets)) EXECUTE FUNCTION posthorn.tell_usable();

create table posthorn.event_types (
  event_type text collate "C" not null,
  description text,
  group text,
  schema text,
  examples text[] not null default '{}'::text[],
  validation text not null default 'off'::text,
  deprecated boolean not null default false,
  replaced_by text collate "C",
  hidden boolean not null default false,
  version bigint not null,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  updated_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint event_types_pkey PRIMARY KEY (event_type),
  constraint event_types_description_check CHECK ((length(description) <= 2000)),
  constraint event_types_event_type_check CHECK (((length(event_type) <= 128) AND (event_type ~ '^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$'::text))),
  constraint event_types_group_check CHECK (((length("group") >= 1) AND (length("group") <= 100))),
  constraint event_types_validation_check CHECK ((validation = ANY (ARRAY['off'::text, 'report'::text, 'refuse'::text])))
);

create table posthorn.events (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  event_type text collate "C" not null,
  payload text not null,
  trace_id text collate "C" not null,
  deliveries integer not null,
  missed integer not null,
  actor text collate "C" not null,
  endpoint_ids text[],
  retry boolean not null default true,
  unfilterable boolean,
  purged_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  constraint events_pkey PRIMARY KEY (workspace_id, id)
) with (autovacuum_vacuum_insert_threshold=20000, autovacuum_vacuum_insert_scale_factor=0);
CREATE INDEX events_trace ON posthorn.events USING btree (workspace_id, trace_id) WHERE (trace_id <> (substr(id, 5) || '000'::text));
CREATE INDEX events_type ON posthorn.events USING btree (workspace_id, event_type, id DESC);
CREATE TRIGGER events_keep_ids BEFORE UPDATE OF workspace_id, id, payload, purged_at ON posthorn.events FOR EACH ROW WHEN (new.workspace_id IS DISTINCT FROM old.workspace_id OR new.id IS DISTINCT FROM old.id OR new.payload <> 'null'::text OR old.purged_at IS NOT NULL OR new.purged_at IS NULL) EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER events_not_emptied BEFORE TRUNCATE ON posthorn.events FOR EACH STATEMENT EXECUTE FUNCTION posthorn.refuse_change();

create table posthorn.failed_deliveries (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  delivery_id text collate "C" not null,
  status text collate "C" not null,
  is_test boolean not null default false,
  recovered_by text collate "C",
  under_way text collate "C",
  failed_by xid8 not null default pg_current_xact_id(),
  ended_by xid8,
  made_up_by xid8,
  constraint failed_deliveries_pkey PRIMARY KEY (workspace_id, endpoint_id, created_at, delivery_id) INCLUDE (status, is_test, recovered_by, under_way),
  constraint failed_deliveries_status_check CHECK ((status = ANY (ARRAY['failed'::text, 'failed_permanent'::text, 'dead_lettered'::text])))
);
CREATE INDEX failed_deliveries_recovered ON posthorn.failed_deliveries USING btree (workspace_id, created_at) WHERE ((recovered_by IS NOT NULL) AND (status <> 'failed'::text));

create table posthorn.hourly_rollups (
  workspace_id text collate "C" not null,
  hour timestamp(3) with time zone not null,
  endpoint_id text collate "C" not null,
  delivered integer not null,
  failed_permanent integer not null,
  dead_lettered integer not null,
  durations integer[] not null,
  times integer[] not null,
  open text[] not null,
  counted_at timestamp(3) with time zone not null,
  constraint hourly_rollups_pkey PRIMARY KEY (workspace_id, endpoint_id, hour)
);
CREATE INDEX hourly_rollups_hour ON posthorn.hourly_rollups USING btree (hour);
CREATE INDEX hourly_rollups_open ON posthorn.hourly_rollups USING btree (workspace_id, hour) WHERE (open <> '{}'::text[]);

create table posthorn.idempotency_keys (
  workspace_id text collate "C" not null,
  key text collate "C" not null,
  fingerprint bytea not null,
  event_id text collate "C" not null,
  delivery_ids text[] not null default '{}'::text[],
  created_at timestamp(3) with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (workspace_id, key),
  constraint idempotency_keys_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE
);
CREATE INDEX idempotency_keys_age ON posthorn.idempotency_keys USING btree (workspace_id, created_at);

create table posthorn.idempotent_answers (
  workspace_id text collate "C",
  caller text collate "C" not null,
  key text collate "C" not null,
  fingerprint bytea not null,
  status smallint not null,
  headers json not null,
  body text,
  sealed bytea,
  running_until timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint idempotent_answers_key UNIQUE NULLS NOT DISTINCT (workspace_id, caller, key),
  constraint idempotent_answers_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint idempotent_answers_check CHECK (((body IS NULL) OR (sealed IS NULL)))
);
CREATE INDEX idempotent_answers_age ON posthorn.idempotent_answers USING btree (workspace_id, created_at);
CREATE INDEX idempotent_answers_sealed ON posthorn.idempotent_answers USING btree (workspace_id, created_at) WHERE (sealed IS NOT NULL);

create table posthorn.installation (
  only_row boolean not null default true,
  waiting bigint,
  bytes bigint,
  system_workspace text collate "C",
  constraint installation_pkey PRIMARY KEY (only_row),
  constraint installation_only_row_check CHECK (only_row)
);

create table posthorn.judged_events (
  workspace_id text collate "C" not null,
  up_to text collate "C" not null,
  constraint judged_events_pkey PRIMARY KEY (workspace_id),
  constraint judged_events_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE
);

create table posthorn.kept_bytes (
  workspace_id text collate "C" not null,
  bytes bigint not null,
  up_to text collate "C" not null,
  counted_at timestamp(3) with time zone not null,
  constraint kept_bytes_pkey PRIMARY KEY (workspace_id),
  constraint kept_bytes_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE
);

create table posthorn.members (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  email text not null,
  email_key text collate "C" not null,
  name text not null,
  role text collate "C" not null,
  constraint members_pkey PRIMARY KEY (workspace_id, id),
  constraint members_email UNIQUE (workspace_id, email_key),
  constraint members_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint members_email_check CHECK ((length(email) <= 254)),
  constraint members_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint members_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'developer'::text, 'admin'::text])))
);

create table posthorn.migrations (
  version integer not null,
  name text not null,
  fingerprint text,
  runs_beside integer,
  applied_at timestamp(3) with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (version)
);

create table posthorn.missed_events (
  workspace_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  missed_by xid8 not null default pg_current_xact_id(),
  constraint missed_events_pkey PRIMARY KEY (workspace_id, endpoint_id, created_at, event_id),
  constraint missed_events_workspace_id_event_id_fkey FOREIGN KEY (workspace_id, event_id) REFERENCES posthorn.events(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX missed_events_event ON posthorn.missed_events USING btree (workspace_id, event_id);

create table posthorn.notifications (
  workspace_id text collate "C" not null,
  id text collate "C" not null default posthorn.new_id('ntf_'::text),
  kind text not null,
  message text not null,
  endpoint_id text collate "C",
  delivery_id text collate "C",
  read_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint notifications_pkey PRIMARY KEY (workspace_id, id),
  constraint notifications_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint notifications_kind_check CHECK ((kind = ANY (ARRAY['delivery_dead_lettered'::text, 'endpoint_disabled'::text])))
);
CREATE INDEX notifications_endpoint ON posthorn.notifications USING btree (workspace_id, endpoint_id, created_at DESC, id DESC);
CREATE INDEX notifications_newest ON posthorn.notifications USING btree (workspace_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX notifications_once ON posthorn.notifications USING btree (workspace_id, delivery_id) WHERE (kind = 'delivery_dead_lettered'::text);
CREATE INDEX notifications_unread ON posthorn.notifications USING btree (workspace_id, id) WHERE (read_at IS NULL);

create table posthorn.operator_audit_events (
  id text collate "C" not null default posthorn.new_id('aud_'::text),
  action text not null,
  actor_type text not null,
  actor_id text not null,
  actor_name text,
  root_type text,
  root_id text,
  via text not null,
  target_type text not null,
  target_id text not null,
  changes json,
  trace_id text collate "C" not null,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint operator_audit_events_pkey PRIMARY KEY (id),
  constraint operator_audit_events_action_check CHECK ((action = ANY (ARRAY['workspace.created'::text, 'workspace.updated'::text, 'workspace.deleted'::text, 'event_type.created'::text, 'event_type.updated'::text, 'event_type.deleted'::text]))),
  constraint operator_audit_events_actor_type_check CHECK ((actor_type = 'operator'::text)),
  constraint operator_audit_events_root_type_check CHECK ((root_type = ANY (ARRAY['operator'::text, 'api_token'::text, 'member'::text]))),
  constraint operator_audit_events_via_check CHECK ((via = ANY (ARRAY['rest'::text, 'mcp'::text, 'console'::text, 'worker'::text, 'sql'::text])))
);
CREATE INDEX operator_audit_events_newest ON posthorn.operator_audit_events USING btree (created_at DESC, id DESC);
CREATE TRIGGER operator_audit_events_immutable BEFORE DELETE OR UPDATE ON posthorn.operator_audit_events FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER operator_audit_events_not_emptied BEFORE TRUNCATE ON posthorn.operator_audit_events FOR EACH STATEMENT EXECUTE FUNCTION posthorn.refuse_change();

create table posthorn.queue (
  workspace_id text collate "C" not null,
  delivery_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  shard smallint not null,
  due_at timestamp with time zone not null,
  attempts smallint not null default 0,
  claims smallint not null default 0,
  maybe_sent boolean not null default false,
  at_once boolean not null default false,
  constraint queue_pkey PRIMARY KEY (workspace_id, delivery_id)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0);
CREATE INDEX queue_due ON posthorn.queue USING btree (shard, due_at, delivery_id);
CREATE INDEX queue_endpoint ON posthorn.queue USING btree (workspace_id, endpoint_id, due_at, delivery_id);

create table posthorn.replays (
  workspace_id text collate "C" not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  shard smallint not null,
  statuses text[] not null,
  since timestamp(3) with time zone not null,
  until timestamp(3) with time zone,
  include_missed boolean not null,
  include_unsent boolean not null default false,
  unsent_since timestamp(3) with time zone,
  hidden text[] not null default '{}'::text[],
  event_types text[],
  filter_path jsonpath,
  filter_program jsonb,
  include_recovered boolean not null,
  include_tests boolean not null,
  state text collate "C" not null default 'running'::text,
  matched bigint not null,
  missed bigint not null,
  unsent bigint not null default 0,
  recovered bigint not null,
  under_way bigint not null,
  tests bigint not null,
  replayed bigint not null default 0,
  failed bigint not null default 0,
  snapshot pg_snapshot not null default pg_current_snapshot(),
  past_at timestamp(3) with time zone not null default '-infinity'::timestamp with time zone,
  past_id text collate "C" not null default ''::text,
  deliveries_done boolean not null default false,
  actor_type text not null,
  actor_id text not null,
  actor_name text,
  root_type text,
  root_id text,
  via text not null,
  trace_id text collate "C" not null,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  finished_at timestamp(3) with time zone,
  constraint replays_pkey PRIMARY KEY (workspace_id, id),
  constraint replays_workspace_id_endpoint_id_fkey FOREIGN KEY (workspace_id, endpoint_id) REFERENCES posthorn.endpoints(workspace_id, id) ON DELETE CASCADE,
  constraint replays_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES posthorn.workspaces(id) ON DELETE CASCADE,
  constraint replays_check CHECK (((state = 'running'::text) = (finished_at IS NULL))),
  constraint replays_check1 CHECK (((state <> 'done'::text) OR ((replayed + failed) = matched))),
  constraint replays_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'cancelled'::text]))),
  constraint replays_statuses_check CHECK (((statuses <@ '{failed,failed_permanent,dead_lettered}'::text[]) AND (cardinality(statuses) > 0)))
);
CREATE INDEX replays_endpoint ON posthorn.replays USING btree (workspace_id, endpoint_id, created_at DESC, id DESC);
CREATE INDEX replays_newest ON posthorn.replays USING btree (workspace_id, created_at DESC, id DESC);
CREATE INDEX replays_running ON posthorn.replays USING btree (shard) WHERE (state = 'running'::text);
CREATE INDEX replays_turns ON posthorn.replays USING btree (workspace_id, id) WHERE (state = 'running'::text);
CREATE TRIGGER replays_started AFTER INSERT ON posthorn.replays FOR EACH STATEMENT EXECUTE FUNCTION posthorn.tell_workers();
CREATE TRIGGER replays_told AFTER UPDATE OF state ON posthorn.replays FOR EACH ROW WHEN (old.state = 'running'::text AND new.state <> 'running'::text) EXECUTE FUNCTION posthorn.tell_of_replay();

create table posthorn.shards (
  shard smallint not null,
  owner text,
  in_doubt_until bigint,
  in_doubt_snapshot pg_snapshot,
  began boolean not null default false,
  stopped_at bigint,
  constraint shards_pkey PRIMARY KEY (shard)
) with (fillfactor=50);

create table posthorn.stale_hours (
  workspace_id text collate "C" not null,
  hour timestamp(3) with time zone not null,
  endpoint_id text collate "C" not null,
  delivered integer not null,
  failed_permanent integer not null,
  dead_lettered integer not null,
  durations integer[] not null,
  times integer[] not null
);
CREATE INDEX stale_hours_hour ON posthorn.stale_hours USING btree (hour);
CREATE INDEX stale_hours_of ON posthorn.stale_hours USING btree (workspace_id, hour, endpoint_id);

create table posthorn.subscriptions (
  workspace_id text collate "C" not null,
  pattern text collate "C" not null,
  endpoint_id text collate "C" not null,
  constraint subscriptions_pkey PRIMARY KEY (workspace_id, pattern, endpoint_id),
  constraint subscriptions_workspace_id_endpoint_id_fkey FOREIGN KEY (workspace_id, endpoint_id) REFERENCES posthorn.endpoints(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX subscriptions_endpoint ON posthorn.subscriptions USING btree (workspace_id, endpoint_id);

create table posthorn.workspaces (
  id text collate "C" not null,
  slug text collate "C" not null,
  name text not null,
  waiting_limit bigint,
  bytes_limit bigint,
  endpoints_limit integer,
  tokens_limit integer,
  publish_per_minute integer,
  used_up text,
  policy jsonb,
  alerts jsonb not null default '[]'::jsonb,
  alert_secrets bytea,
  created_at timestamp(3) with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()),
  constraint workspaces_pkey PRIMARY KEY (id),
  constraint workspaces_slug_key UNIQUE (slug),
  constraint workspaces_alerts_check CHECK ((jsonb_typeof(alerts) = 'array'::text)),
  constraint workspaces_bytes_limit_check CHECK ((bytes_limit >= 1)),
  constraint workspaces_endpoints_limit_check CHECK ((endpoints_limit >= 1)),
  constraint workspaces_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint workspaces_publish_per_minute_check CHECK ((publish_per_minute >= 1)),
  constraint workspaces_slug_check CHECK ((slug ~ '^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$'::text)),
  constraint workspaces_tokens_limit_check CHECK ((tokens_limit >= 1)),
  constraint workspaces_used_up_check CHECK ((used_up = ANY (ARRAY['waiting'::text, 'bytes'::text]))),
  constraint workspaces_waiting_limit_check CHECK ((waiting_limit >= 1))
);
CREATE TRIGGER events_follow AFTER DELETE ON posthorn.workspaces REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.remove_events();
CREATE TRIGGER rollups_follow AFTER DELETE ON posthorn.workspaces REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION posthorn.remove_rollups();
CREATE TRIGGER workspaces_keep_ids BEFORE UPDATE OF id ON posthorn.workspaces FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER workspaces_policy AFTER UPDATE OF policy ON posthorn.workspaces FOR EACH ROW WHEN (new.policy IS DISTINCT FROM old.policy) EXECUTE FUNCTION posthorn.tell_policy();
create type posthorn.audience as (
  workspace_id text,
  wanted text,
  enabled text[],
  disabled text[],
  asleep smallint[],
  used_up text,
  unknown integer,
  weight integer,
  unjudged text
);

create type posthorn.happening as (
  workspace_id text,
  kind text,
  facts jsonb,
  trace_id text
);

create type posthorn.judged_payload as (
  document jsonb,
  nested integer,
  parts integer,
  bytes integer
);

create type posthorn.loaded as (
  index integer,
  event_type text,
  payload text,
  trace_id text,
  test boolean,
  created_at text,
  failures integer,
  retry boolean,
  version text,
  url text,
  enabled boolean,
  generation integer,
  secret bytea,
  previous_secret bytea,
  policy text,
  workspace_policy text,
  policy_version text,
  slug text,
  request text,
  request_secrets bytea
);

create type posthorn.outcome as (
  index integer,
  id text,
  event_type text,
  delivery_ids text[],
  duplicate boolean,
  code text,
  message text,
  hint text
);

create type posthorn.planned as (
  index integer,
  workspace_id text,
  id text,
  event_type text,
  payload text,
  trace_id text,
  key text,
  endpoint_ids text[],
  delivery_ids text[],
  missed_ids text[],
  duplicate boolean,
  refusal posthorn.refusal,
  actor text,
  named_ids text[],
  retry boolean,
  unfilterable boolean
);

create type posthorn.published as (
  id text,
  event_type text,
  delivery_ids text[],
  duplicate boolean
);

create type posthorn.refusal as (
  code text,
  message text,
  hint text
);

create type posthorn.waiting as (
  workspace_id text,
  endpoint_id text,
  shard smallint,
  attempts smallint,
  claims smallint,
  at_once boolean,
  delivery_ids text,
  dues text
);
-- posthorn.actor_json(actor text) returns json
-- posthorn.actor_text(type text, id text, via text) returns text
-- posthorn.add_deviations(workspaces text[], event_types text[], event_ids text[]) returns void
-- posthorn.alerting_workspaces(of_kind text, past text, most integer) returns TABLE(workspace_id text, is_due boolean)
-- posthorn.announce(workspace text, event_type text, payload text, trace_id text, except_endpoint text, actor text) returns void
-- posthorn.apply_keys(plan posthorn.planned[], moment timestamp with time zone, patient boolean) returns posthorn.planned[]
-- posthorn.audience_of(workspace text, event_type text, except_endpoint text, named json DEFAULT NULL::json) returns posthorn.audience
-- posthorn.begin_daily_run(wanted_job text) returns boolean
-- posthorn.blocked_endpoints(workspaces text[], deliveries text[], endpoints text[], statuses text[]) returns SETOF text
-- posthorn.check_fan_out(workspace text, event_types text[], payloads json[], idempotency_keys text[], most_deliveries integer, endpoint_ids json[]) returns void
-- posthorn.check_quotas() returns integer
-- posthorn.choices_text(named_ids text[], retry boolean) returns text
-- posthorn.claim(workspaces text[], deliveries text[], attempts smallint[], counts smallint[], claim_limit integer, sending boolean) returns TABLE(delivery_id text, outcome text)
-- posthorn.claim_alerts(of_kind text, workspaces text[], most integer, lease interval) returns TABLE(workspace_id text, id text, kind text, cause text, recipient text, endpoint_id text, happened_at timestamp with time zone, digest jsonb, attempts integer, slug text, name text, alerts jsonb, alert_secrets bytea)
-- posthorn.clear_doubt(shards smallint[], present_owner text) returns SETOF smallint
-- posthorn.close_alert_hour(workspace text, happened text) returns void
-- posthorn.close_alert_hours(most integer) returns integer
-- posthorn.compact_json(payload text) returns text
-- posthorn.count_bytes(workspace text) returns bigint
-- posthorn.count_failures(workspaces text[], deliveries text[], endpoints text[], generations integer[], statuses text[], failure_reasons text[], failure_limits integer[], failing_fors integer[], gones boolean[], arrivals integer[], stored integer[], locked text[], moment timestamp with time zone, OUT disabled text[], OUT reasons text[]) returns record
-- posthorn.count_replay(workspace text, endpoint text, wanted text[], since timestamp with time zone, until timestamp with time zone, include_missed boolean, include_recovered boolean, include_tests boolean, include_unsent boolean DEFAULT false, unsent_since timestamp with time zone DEFAULT NULL::timestamp with time zone, hidden text[] DEFAULT '{}'::text[], OUT deliveries bigint, OUT missed bigint, OUT recovered bigint, OUT under_way bigint, OUT tests bigint, OUT unsent bigint) returns record
-- posthorn.dead_letter(batch integer, OUT processed integer, OUT marked integer) returns record
-- posthorn.deliveries_begin(event_id text) returns text
-- posthorn.deliveries_of(workspace text, since timestamp with time zone[], lasting interval, endpoints text[]) returns TABLE(hour timestamp with time zone, endpoint_id text, status posthorn.delivery_status, ms integer, n integer)
-- posthorn.deliveries_of_event(workspace text, event text) returns SETOF text
-- posthorn.deviations_of(wanted text, workspace text, OUT count bigint, OUT since timestamp with time zone, OUT last_event_id text) returns record
-- posthorn.due(shards smallint[], cursor_dues bigint[], cursor_ids text[], skip text[], per_shard integer, scan_limit integer) returns SETOF posthorn.waiting
-- posthorn.due_of_endpoints(workspaces text[], endpoints text[], from_due bigint[], from_ids text[], per_endpoint integer[]) returns SETOF posthorn.waiting
-- posthorn.elements_in(document jsonb) returns jsonb
-- posthorn.end_daily_run(done_job text) returns void
-- posthorn.endpoint_stopped(workspace text, endpoint text, delivery text, reason text, failures integer, failing_since timestamp with time zone, trace text) returns void
-- posthorn.endpoint_unknown(place integer) returns posthorn.refusal
-- posthorn.erase_sealed_answers(kept interval) returns integer
-- posthorn.events_to_judge(workspace text, past text, horizon text, types text[], sinces text[], most integer, most_bytes integer, OUT id text, OUT event_type text, OUT payload text) returns SETOF record
-- posthorn.filter_holds(filter_path jsonpath, filter_program jsonb, judged posthorn.judged_payload) returns boolean
-- posthorn.fingerprint(event_type text, payload text, named_ids text[], retry boolean) returns bytea
-- posthorn.first_failing(explained text, conditions integer, judged posthorn.judged_payload) returns integer
-- posthorn.first_of_endpoints(after_workspace text, after_endpoint text, most integer) returns TABLE(workspace_id text, endpoint_id text, shard smallint, attempts smallint, claims smallint, at_once boolean, delivery_id text, due bigint, is_ready boolean, is_last boolean)
-- posthorn.fold_alerts(workspace text, most integer) returns integer
-- posthorn.forget_starts() returns integer
-- posthorn.from_micros(micros bigint) returns timestamp with time zone
-- posthorn.happened(happenings posthorn.happening[]) returns void
-- posthorn.has_alert_work() returns boolean
-- posthorn.hold_workspaces(plan posthorn.planned[], workspaces text[]) returns posthorn.planned[]
-- posthorn.hours_over() returns timestamp with time zone
-- posthorn.hours_to_roll_up(over timestamp with time zone) returns TABLE(workspace_id text, hour timestamp with time zone)
-- posthorn.id_at(prefix text, moment timestamp with time zone) returns text
-- posthorn.id_of(prefix text, microseconds bigint) returns text
-- posthorn.ids_in(named json) returns text[]
-- posthorn.is_operational(event_type text) returns boolean
-- posthorn.judged(payload text) returns posthorn.judged_payload
-- posthorn.lets_through(filter_path jsonpath, filter_program jsonb, judged posthorn.judged_payload) returns boolean
-- posthorn.life_class() returns integer
-- posthorn.life_lock(owner text) returns integer
-- posthorn.load(workspaces text[], deliveries text[], endpoints text[], attempts smallint[], known bigint[]) returns SETOF posthorn.loaded
-- posthorn.losses(workspace text, endpoint text, most integer, OUT stopped integer, OUT stopped_since timestamp with time zone, OUT newest_id text, OUT never_sent integer, OUT more_stopped boolean, OUT recovered integer, OUT missed integer, OUT missed_since timestamp with time zone, OUT more_missed boolean) returns record
-- posthorn.made_at(id text) returns timestamp with time zone
-- posthorn.made_up_for(workspace text, endpoint text, event text, source text, replay text) returns TABLE(created_at timestamp with time zone, delivery_id text)
-- posthorn.make_alerts(workspace text, happened text, endpoint text, at timestamp with time zone, summed jsonb) returns void
-- posthorn.matching_endpoints(workspace text, event_type text, except_endpoint text) returns SETOF posthorn.audience
-- posthorn.may_nest_deeper(payload text, depth integer) returns boolean
-- posthorn.micros(moment timestamp with time zone) returns bigint
-- posthorn.most_work(judged posthorn.judged_payload) returns bigint
-- posthorn.move_judged(workspace text, before text, now_at text, types text[], event_ids text[]) returns boolean
-- posthorn.named_endpoints(workspace text, named json) returns SETOF posthorn.audience
-- posthorn.needed_rights(OUT of_table regclass, OUT privilege text, OUT of_column text) returns SETOF record
-- posthorn.nesting_of(payload text, document jsonb) returns integer
-- posthorn.nests_deeper(payload text, depth integer) returns boolean
-- posthorn.new_id(prefix text) returns text
-- posthorn.new_trace_id() returns text
-- posthorn.newest_deliveries(workspace text, endpoint text, before text, most integer) returns SETOF posthorn.deliveries
-- posthorn.newest_of_type(wanted text, most integer, most_bytes integer, OUT id text, OUT workspace text, OUT payload text) returns SETOF record
-- posthorn.next_due(shards smallint[]) returns bigint
-- posthorn.next_start(workspace text, endpoint text, tolerance interval DEFAULT '00:00:10'::interval) returns timestamp with time zone
-- posthorn.note_alerts(happenings posthorn.happening[]) returns void
-- posthorn.noted_workspaces(past text, most integer) returns SETOF text
-- posthorn.notify_if_asleep(shards smallint[]) returns void
-- posthorn.notify_sleepers(shards smallint[]) returns void
-- posthorn.open_publishers(shards smallint[]) returns text
-- posthorn.outlives_its_lease() returns interval
-- posthorn.own_trace(event_id text) returns text
-- posthorn.owner_lives(owner text) returns boolean
-- posthorn.path_of(program jsonb, nested integer) returns jsonpath
-- posthorn.patterns_of(event_type text) returns text[]
-- posthorn.patterns_of_long(event_type text) returns text[]
-- posthorn.plan(workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[], most_deliveries integer, actors text[], endpoint_ids json[], retries boolean[], shared boolean) returns posthorn.planned[]
-- posthorn.policy_version(own jsonb, inherited jsonb) returns bigint
-- posthorn.publish(workspace_slug text, event_type text, payload json, idempotency_key text DEFAULT NULL::text, trace_id text DEFAULT NULL::text, endpoint_ids text[] DEFAULT NULL::text[], retry boolean DEFAULT true) returns posthorn.published
-- posthorn.publish_all(workspace text, event_types text[], payloads json[], idempotency_keys text[], trace_id text, most_deliveries integer, actor text, endpoint_ids json[], retries boolean[]) returns SETOF posthorn.published
-- posthorn.publish_each(workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[], most_deliveries integer, actors text[], patient boolean DEFAULT true, endpoint_ids json[] DEFAULT NULL::json[], retries boolean[] DEFAULT NULL::boolean[]) returns SETOF posthorn.outcome
-- posthorn.publish_events(workspace_slug text, event_types text[], payloads json[], idempotency_keys text[], trace_id text DEFAULT NULL::text, most_deliveries integer DEFAULT NULL::integer, endpoint_ids json[] DEFAULT NULL::json[], retries boolean[] DEFAULT NULL::boolean[]) returns SETOF posthorn.published
-- posthorn.publish_one(workspace text, event_type text, payload text, trace_id text, most_deliveries integer, actor text) returns posthorn.published
-- posthorn.publish_planned(workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[], most_deliveries integer, patient boolean, actors text[], endpoint_ids json[], retries boolean[]) returns posthorn.planned[]
-- posthorn.published_or_raise(one posthorn.planned, place text) returns posthorn.published
-- posthorn.purge_event(workspace text, event text, OUT outcome text, OUT bytes integer, OUT sha256 text, OUT attempts integer) returns record
-- posthorn.quota_exceeded(quota text) returns posthorn.refusal
-- posthorn.rate_of(own jsonb, inherited jsonb) returns jsonb
-- posthorn.record(workspaces text[], deliveries text[], endpoints text[], generations integer[], ordinals smallint[], attempt_ids text[], statuses text[], began bigint[], durations integer[], http_statuses smallint[], failure_reasons text[], failure_details text[], signatures text[], request_headers text[], response_bodies text[], waits integer[], exhausteds boolean[], urls text[], response_headers text[], rate_limiteds boolean[], policies bigint[], failure_limits integer[], failing_fors integer[], gones boolean[], arrivals integer[], fixed_headers text) returns TABLE(recorded integer, dead_lettered integer, disabled text[], disabled_reasons text[], changed text[], too_late integer[], moment_micros bigint)
-- posthorn.record_each(workspaces text[], deliveries text[], endpoints text[], generations integer[], ordinals smallint[], attempt_ids text[], statuses text[], began bigint[], durations integer[], http_statuses smallint[], failure_reasons text[], failure_details text[], signatures text[], request_headers text[], response_bodies text[], waits integer[], exhausteds boolean[], urls text[], response_headers text[], rate_limiteds boolean[], policies bigint[], failure_limits integer[], failing_fors integer[], gones boolean[], arrivals integer[], fixed_headers text) returns TABLE(recorded integer, dead_lettered integer, disabled text[], disabled_reasons text[], changed text[], too_late integer[], moment_micros bigint, refused integer[], refusals text[])
-- posthorn.refusal_in(workspace text) returns posthorn.refusal
-- posthorn.refusal_of(event_type text, payload text, idempotency_key text, trace_id text) returns posthorn.refusal
-- posthorn.refusal_of_named(named json) returns posthorn.refusal
-- posthorn.release_shard(given smallint, last_owner text) returns void
-- posthorn.remove_deleted(most integer, within interval) returns boolean
-- posthorn.remove_endpoint(workspace text, endpoint text, most integer) returns boolean
-- posthorn.remove_history(workspace text, endpoint text, most integer) returns integer
-- posthorn.remove_of_endpoint(workspace text, endpoint text, most integer) returns boolean
-- posthorn.remove_old_alerts(kept interval, most integer) returns integer
-- posthorn.remove_old_answers(workspace text, kept interval, most integer) returns integer
-- posthorn.remove_old_deliveries(workspace text, kept interval, most integer, INOUT past_id text, OUT removed integer) returns record
-- posthorn.remove_old_deviations(most integer) returns integer
-- posthorn.remove_old_events(workspace text, kept interval, most integer, INOUT past_id text, OUT scanned integer, OUT removed integer) returns record
-- posthorn.remove_old_keys(workspace text, kept interval, most integer) returns integer
-- posthorn.remove_old_rollups() returns void
-- posthorn.remove_waiting(workspace text, kept interval, most integer, INOUT past_id text, OUT scanned integer, OUT removed integer) returns record
-- posthorn.remove_workspace(workspace text, trace text) returns SETOF posthorn.workspaces
-- posthorn.replay(workspace text, endpoint text, sources text[], missed_events text[], job text, actor_type text, actor_id text, via text, trace text, root_type text DEFAULT NULL::text, root_id text DEFAULT NULL::text, actor_name text DEFAULT NULL::text, resend boolean DEFAULT false, unsent_events text[] DEFAULT '{}'::text[]) returns TABLE(source text, event text, delivery text)
-- posthorn.replay_choice(recovered_by text, under_way text, is_test boolean, include_recovered boolean, include_tests boolean) returns text
-- posthorn.replay_is_queued(workspace text, replay text) returns boolean
-- posthorn.replay_scan_limit() returns integer
-- posthorn.replay_step(workspace text, replay text, batch integer, room integer, OUT outcome text, OUT made integer) returns record
-- posthorn.rfc3339(at timestamp with time zone) returns text
-- posthorn.roll_up_hour(workspace text, wanted timestamp with time zone) returns boolean
-- posthorn.rollup_class() returns integer
-- posthorn.settle_alert(workspace text, alert text, attempt integer, outcome text, error text, wait interval) returns boolean
-- posthorn.shard_count() returns integer
-- posthorn.shard_of(endpoint_id text) returns smallint
-- posthorn.show_life(owner text) returns boolean
-- posthorn.sift(audience posthorn.audience, payload text, shared boolean) returns posthorn.audience
-- posthorn.sleep_lock_class() returns integer
-- posthorn.sql_actor() returns text
-- posthorn.stands_at(payload json, path text[], kind text, value text) returns boolean
-- posthorn.starts_since(workspaces text[], endpoints text[], requests integer[], windows integer[], most_unrecorded integer[]) returns TABLE(index integer, ages double precision[])
-- posthorn.statistics_by_hour(workspace text, endpoints text[], many integer, moment timestamp with time zone) returns TABLE(hour timestamp with time zone, pending integer, delivered integer, failed integer, failed_permanent integer, dead_lettered integer, p50_ms integer, p95_ms integer)
-- posthorn.store_planned(plan posthorn.planned[], moment timestamp with time zone) returns void
-- posthorn.system_workspace() returns text
-- posthorn.take_keys(plan posthorn.planned[], moment timestamp with time zone) returns void
-- posthorn.take_shard(wanted smallint, new_owner text) returns bigint
-- posthorn.take_sleep_locks(shards integer[]) returns TABLE(shard integer, taken boolean)
-- posthorn.too_late(workspaces text[], deliveries text[], ordinals smallint[], attempt_ids text[], arrivals integer[]) returns integer[]
-- posthorn.too_many(planned bigint, most integer) returns posthorn.refusal
-- posthorn.try_publish_all(workspace text, event_types text[], payloads json[], idempotency_keys text[], trace_id text, most_deliveries integer, actor text, endpoint_ids json[] DEFAULT NULL::json[], retries boolean[] DEFAULT NULL::boolean[]) returns SETOF posthorn.published
-- posthorn.try_publish_each(workspaces text[], event_types text[], payloads json[], idempotency_keys text[], trace_ids text[], most_deliveries integer, actors text[], endpoint_ids json[] DEFAULT NULL::json[], retries boolean[] DEFAULT NULL::boolean[]) returns SETOF posthorn.outcome
-- posthorn.try_share_sleep_lock(shard smallint) returns boolean
-- posthorn.types_past(workspace text, past text) returns TABLE(event_type text, id text)
-- posthorn.unsent_events(workspace text, endpoint text, event_types text[], hidden text[], filter_path jsonpath, filter_program jsonb, since timestamp with time zone, until timestamp with time zone, unsent_since timestamp with time zone, with_missed boolean, moment pg_snapshot, past text, most integer, most_read integer, lasting interval, OUT unsent text[], OUT missed text[], OUT made_up integer, OUT past_id text, OUT ended boolean) returns record
-- posthorn.was_visible(version xid, moment pg_snapshot) returns boolean
-- posthorn.work_of(program jsonb, judged posthorn.judged_payload, elements jsonb) returns bigint
-- posthorn.workspace_gone() returns posthorn.refusal
-- posthorn.workspace_of(workspace_slug text) returns text
-- posthorn.workspaces_to_judge(past_id text, since text, horizon text, most integer, OUT workspace_id text, OUT past text, OUT stored text) returns SETOF record
-- posthorn.workspaces_to_tidy(kept interval, keys_kept interval) returns SETOF text
-- posthorn.write_attempts(workspaces text[], deliveries text[], endpoints text[], ordinals smallint[], attempt_ids text[], statuses text[], began bigint[], durations integer[], http_statuses smallint[], failure_reasons text[], failure_details text[], signatures text[], request_headers text[], response_bodies text[], waits integer[], exhausteds boolean[], urls text[], response_headers text[], policies bigint[], fixed_headers text, moment timestamp with time zone, OUT recorded integer, OUT dead_lettered integer, OUT stored integer[], OUT locked text[], OUT changed text[]) returns record
