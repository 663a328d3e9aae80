-- The two roles of an installation. posthorn_owner migrates and owns the tables; serve and work run as posthorn_run,
-- which can neither change nor remove evidence, nor disable the triggers that protect it. Run it once, before
-- `posthorn migrate`, as a superuser, in Posthorn's database (docker/compose.yaml does this by itself):
--   OWNER_PASSWORD=… RUN_PASSWORD=… psql "$SUPERUSER_URL" -v ON_ERROR_STOP=1 -f docker/roles.sql
\getenv owner_password OWNER_PASSWORD
\getenv run_password RUN_PASSWORD
create role posthorn_owner login password :'owner_password';
create role posthorn_run login password :'run_password';
create schema posthorn authorization posthorn_owner;
grant usage on schema posthorn to posthorn_run;
-- For tables that migrations make, now and later. Migration 0009 takes back the rights on evidence.
alter default privileges for role posthorn_owner in schema posthorn
  grant select, insert, update, delete on tables to posthorn_run;
alter default privileges for role posthorn_owner in schema posthorn grant execute on functions to posthorn_run;
