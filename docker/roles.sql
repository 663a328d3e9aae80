-- The two roles of an installation: posthorn_owner migrates and owns the tables; posthorn_run is what serve and work are.
-- The second can neither change nor remove evidence, nor switch off what refuses it. Once, before `posthorn migrate`, as a
-- superuser, in the database that Posthorn shall use (docker/compose.yaml does this by itself):
--   OWNER_PASSWORD=… RUN_PASSWORD=… psql "$SUPERUSER_URL" -v ON_ERROR_STOP=1 -f docker/roles.sql
\getenv owner_password OWNER_PASSWORD
\getenv run_password RUN_PASSWORD
create role posthorn_owner login password :'owner_password';
create role posthorn_run login password :'run_password';
create schema posthorn authorization posthorn_owner;
grant usage on schema posthorn to posthorn_run;
-- For what migrations make, now and later. They take back what concerns evidence (migration 0009).
alter default privileges for role posthorn_owner in schema posthorn
  grant select, insert, update, delete on tables to posthorn_run;
alter default privileges for role posthorn_owner in schema posthorn grant execute on functions to posthorn_run;
