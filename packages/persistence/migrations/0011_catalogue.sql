-- The event catalogue: what the operator says of event types, for all workspaces, and how often payloads did not fit.

create table posthorn.event_types (
  event_type text collate "C" primary key check (length(event_type) <= 128 and event_type ~ '^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$'),
  description text check (length(description) <= 2000),
  "group" text check (length("group") between 1 and 100),
  -- The text that was sent: jsonb would reorder members and respell numbers.
  schema text,
  examples text[] not null default '{}',
  validation text not null default 'off' check (validation in ('off', 'report', 'refuse')),
  deprecated boolean not null default false,
  replaced_by text collate "C",
  hidden boolean not null default false,
  created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
);

-- Whoever writes to the catalogue holds this row, so `version` tells whether anything was changed.
create table posthorn.catalogue (
  only_row boolean primary key default true check (only_row),
  version bigint not null default 0
);
insert into posthorn.catalogue default values;

-- Payloads that did not fit their type's schema, by day in UTC.
create table posthorn.deviations (
  workspace_id text collate "C" not null references posthorn.workspaces on delete cascade,
  event_type text collate "C" not null,
  day date not null,
  count bigint not null,
  since timestamptz(3) not null,
  last_event_id text collate "C" not null,
  primary key (workspace_id, event_type, day)
);
-- Without the workspace: the operator sees those of all workspaces.
create index deviations_of_type on posthorn.deviations (event_type, day);

-- Deviations of the last 30 days, in a workspace or (null) in all.
create function posthorn.deviations_of(
  wanted text, workspace text, out count bigint, out since timestamptz, out last_event_id text
) language sql stable
begin atomic
  select coalesce(sum(d.count), 0)::bigint, min(d.since), max(d.last_event_id) from posthorn.deviations d
  where d.event_type = wanted and d.day > (now() at time zone 'UTC')::date - 30
    and (workspace is null or d.workspace_id = workspace);
end;
