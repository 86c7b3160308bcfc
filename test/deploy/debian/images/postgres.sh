#!/bin/sh
# The part of the official image's start that deploy/compose.yaml relies on.
set -eu
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
data=/var/lib/postgresql/data
if [ ! -e "$data/PG_VERSION" ]; then
  install -d -o postgres -m 700 "$data"
  setpriv --reuid=postgres --regid=postgres --clear-groups sh -eu <<SETUP
cd /
initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=scram-sha-256 \
  --auth-local=trust "$data"
echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
pg_ctl --pgdata="$data" --wait --options="-c listen_addresses=" start
createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
for file in /docker-entrypoint-initdb.d/*.sql; do
  psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --file="\$file"
done
pg_ctl --pgdata="$data" --wait stop
SETUP
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups postgres -D "$data" -c "listen_addresses=*"
