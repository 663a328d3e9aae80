-- The people of a workspace, and what the overview counts.

create table posthorn.members (
  workspace_id posthorn.id not null references posthorn.workspaces on delete cascade,
  id posthorn.id not null,
  email text not null check (length(email) <= 254),
  -- The address in lower case: two members of a workspace never differ in case alone.
  email_key text collate "C" not null,
  name text not null check (length(name) between 1 and 200),
  role text collate "C" not null check (role in ('viewer', 'developer', 'admin')),
  primary key (workspace_id, id),
  constraint members_email unique (workspace_id, email_key)
);

create index notifications_unread on posthorn.notifications (workspace_id, id) where read_at is null;
