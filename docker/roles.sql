-- The two roles of an installation. posthorn_owner migrates and owns the tables; serve and work run as posthorn_run, which can
-- neither change nor remove evidence, nor disable the triggers that protect it. Run this in Posthorn's database before
-- `posthorn migrate`, as a superuser, or as a role with CREATEROLE that owns the database. It may be repeated, also in another
-- database of the same server. Then give both roles a password (docs/operate.md, Install).
do $$
begin
  if not exists (select from pg_roles where rolname = 'posthorn_owner') then create role posthorn_owner login; end if;
  if not exists (select from pg_roles where rolname = 'posthorn_run') then create role posthorn_run login; end if;
end $$;

-- Only a member of posthorn_owner may act for it.
grant posthorn_owner to current_user;
create schema if not exists posthorn authorization posthorn_owner;
grant usage on schema posthorn to posthorn_run;
-- For tables that migrations make, now and later. Migration 0009 takes back the rights on evidence.
alter default privileges for role posthorn_owner in schema posthorn
  grant select, insert, update, delete on tables to posthorn_run;
alter default privileges for role posthorn_owner in schema posthorn grant execute on functions to posthorn_run;
revoke posthorn_owner from current_user;
