-- Signing in to the console: links that open it once, and the sessions they open. Only hashes of codes and of cookies are kept.
--
-- Whose rights a link or session has, read afresh at each request:
--   member_id                 the member's role
--   token_id alone            the token's scopes
--   permissions, if not null  these, as far as the member or the token named beside them has them
--   neither id                the operator's link: permissions, or everything
-- A session ends when its token is revoked or expires, and when its member is removed.

create table posthorn.console_links (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  code_hash bytea not null check (length(code_hash) = 32),
  token_id text collate "C",
  member_id text collate "C",
  permissions text[],
  expires_at timestamptz(3) not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, token_id) references posthorn.api_tokens on delete cascade,
  foreign key (workspace_id, member_id) references posthorn.members on delete cascade
);
-- Cannot lead with the workspace: the code is what tells it.
create unique index console_links_lookup on posthorn.console_links (code_hash);
create index console_links_token on posthorn.console_links (workspace_id, token_id);
create index console_links_member on posthorn.console_links (workspace_id, member_id);
create index console_links_expiry on posthorn.console_links (workspace_id, expires_at);

create table posthorn.console_sessions (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  id text collate "C" not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  token_id text collate "C",
  member_id text collate "C",
  permissions text[],
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  last_seen_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz(3) not null,
  primary key (workspace_id, id),
  constraint console_sessions_secret unique (workspace_id, secret_hash),
  foreign key (workspace_id, token_id) references posthorn.api_tokens on delete cascade,
  foreign key (workspace_id, member_id) references posthorn.members on delete cascade
);
create index console_sessions_token on posthorn.console_sessions (workspace_id, token_id);
create index console_sessions_member on posthorn.console_sessions (workspace_id, member_id);
create index console_sessions_expiry on posthorn.console_sessions (workspace_id, expires_at);
