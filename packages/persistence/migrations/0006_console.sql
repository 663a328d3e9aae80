-- Signing in to the console: one-time links and the sessions they open. Only hashes of codes and cookies are stored.
--
-- Rights, read anew for each request:
--   member_id                 the member's role
--   token_id alone            the token's scopes
--   permissions, if not null  these, as far as the member or token has them
--   neither id                the operator's: permissions, or everything
-- A link or session ends when a part of its chain ends:
--   token_id, session_id      the token, and the session, in which it was made
--   operator_epoch            the OPERATOR_TOKEN at the chain's root
-- view is what the session may see of the console, and where it may be embedded: `domain/src/ConsoleView.ts`.

create table posthorn.console_sessions (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  token_id text collate "C",
  member_id text collate "C",
  permissions text[],
  session_id text collate "C",
  operator_epoch text collate "C",
  made_by_type text not null check (made_by_type in ('operator', 'api_token', 'member')),
  made_by_id text collate "C" not null,
  root_type text not null check (root_type in ('operator', 'api_token', 'member')),
  root_id text collate "C" not null,
  view jsonb not null check (jsonb_typeof(view) = 'object'),
  via text not null check (via in ('link', 'token')),
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  last_seen_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  primary key (workspace_id, id),
  constraint console_sessions_secret unique (workspace_id, secret_hash),
  foreign key (workspace_id, token_id) references posthorn.api_tokens on delete cascade,
  foreign key (workspace_id, member_id) references posthorn.members on delete cascade,
  foreign key (workspace_id, session_id) references posthorn.console_sessions on delete cascade
);
create index console_sessions_token on posthorn.console_sessions (workspace_id, token_id);
create index console_sessions_member on posthorn.console_sessions (workspace_id, member_id);
create index console_sessions_session on posthorn.console_sessions (workspace_id, session_id);
create index console_sessions_expiry on posthorn.console_sessions (workspace_id, expires_at);
create index console_sessions_newest on posthorn.console_sessions (workspace_id, created_at desc, id desc);
create index console_sessions_made_by on posthorn.console_sessions (workspace_id, made_by_type, made_by_id, created_at desc, id desc)
  where ended_at is null;

create table posthorn.console_links (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  code_hash bytea not null check (length(code_hash) = 32),
  token_id text collate "C",
  member_id text collate "C",
  permissions text[],
  session_id text collate "C",
  operator_epoch text collate "C",
  made_by_type text not null check (made_by_type in ('operator', 'api_token', 'member')),
  made_by_id text collate "C" not null,
  root_type text not null check (root_type in ('operator', 'api_token', 'member')),
  root_id text collate "C" not null,
  view jsonb not null check (jsonb_typeof(view) = 'object'),
  expires_at timestamptz(3) not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, token_id) references posthorn.api_tokens on delete cascade,
  foreign key (workspace_id, member_id) references posthorn.members on delete cascade,
  foreign key (workspace_id, session_id) references posthorn.console_sessions on delete cascade
);
-- Without the workspace: the code determines it.
create unique index console_links_lookup on posthorn.console_links (code_hash);
create index console_links_token on posthorn.console_links (workspace_id, token_id);
create index console_links_member on posthorn.console_links (workspace_id, member_id);
create index console_links_session on posthorn.console_links (workspace_id, session_id);
create index console_links_expiry on posthorn.console_links (workspace_id, expires_at);
