#!/bin/sh
# Starts Prometheus (Debian: apt-get install prometheus) with the alerts of this folder against one instance.
# TARGET: its METRICS_HOST:METRICS_PORT. LISTEN: address of Prometheus.
# DATA: its folder, kept. RULES: a file of other rules.
set -eu
: "${TARGET:=127.0.0.1:9464}" "${LISTEN:=127.0.0.1:9091}"
folder=$(cd "$(dirname "$0")" && pwd)
command -v prometheus >/dev/null || { echo "prometheus is missing: apt-get install prometheus" >&2; exit 1; }
: "${DATA:=$(mktemp -d)}"
cp "${RULES:-$folder/toolgate.rules.yml}" "$DATA/toolgate.rules.yml"
sed "s/127\.0\.0\.1:9464/$TARGET/; s/15s/${INTERVAL:-15s}/" "$folder/prometheus.yml" > "$DATA/prometheus.yml"
exec prometheus --config.file="$DATA/prometheus.yml" --storage.tsdb.path="$DATA/data" \
  --web.listen-address="$LISTEN" --log.level=warn
