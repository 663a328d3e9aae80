#!/bin/sh
# Gives the two roles of roles.sql the passwords in OWNER_PASSWORD and RUN_PASSWORD (no quotes in them), over standard input: other
# users of the machine see a command's arguments. The image of PostgreSQL runs it, after roles.sql, when the volume is new.
psql --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --set=ON_ERROR_STOP=1 <<END
alter role posthorn_owner password '$OWNER_PASSWORD';
alter role posthorn_run password '$RUN_PASSWORD';
END
