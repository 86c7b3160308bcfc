#!/bin/sh
# certbot's deploy hook: gives HAProxy the certificate that was issued. CERTIFICATES: its folder.
set -eu
umask 077
folder=${CERTIFICATES:-/etc/haproxy/certificates}
mkdir -p "$folder"
cat "$RENEWED_LINEAGE/fullchain.pem" "$RENEWED_LINEAGE/privkey.pem" > "$folder/new"
mv "$folder/new" "$folder/toolgate.pem"
systemctl reload haproxy
