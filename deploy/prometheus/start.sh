#!/bin/sh
# Starts Prometheus (Debian: apt-get install prometheus) with the alerts of this folder.
# TARGETS: METRICS_HOST:METRICS_PORT of every instance, with blanks between. RUNBOOKS: URL of docs/runbooks.
# LISTEN: address of Prometheus. DATA: its folder, kept. RULES: a file of other rules.
set -eu
: "${TARGETS:=127.0.0.1:9464 127.0.0.1:9465}" "${LISTEN:=127.0.0.1:9095}" "${RUNBOOKS:=docs/runbooks}"
folder=$(cd "$(dirname "$0")" && pwd)
command -v prometheus >/dev/null || { echo "prometheus is missing: apt-get install prometheus" >&2; exit 1; }
: "${DATA:=$(mktemp -d)}"
sed "s#docs/runbooks#${RUNBOOKS%/}#" "${RULES:-$folder/toolgate.rules.yml}" > "$DATA/toolgate.rules.yml"
# shellcheck disable=SC2086
targets=$(printf '"%s", ' $TARGETS)
sed "s/targets: .*/targets: [${targets%, }]/; s/15s/${INTERVAL:-15s}/" "$folder/prometheus.yml" \
  > "$DATA/prometheus.yml"
exec prometheus --config.file="$DATA/prometheus.yml" --storage.tsdb.path="$DATA/data" \
  --web.listen-address="$LISTEN" --log.level=warn
