#!/usr/bin/env bash
# Buys a tool call with buf and jq.
#   TOOLGATE_GRPC=127.0.0.1:9090 TOOLGATE_KEY=sk-agent-… ./buf.sh
# To pay, it also needs the settings of ../node/pay.ts.
# Uses gRPC; with PROTOCOL=connect and TOOLGATE_URL it uses Connect.
set -euo pipefail
cd "$(dirname "$0")"
target=(--protocol grpc --http2-prior-knowledge "http://${TOOLGATE_GRPC:-}") # protos by reflection
[ "${PROTOCOL:-grpc}" = grpc ] || target=(--protocol connect --schema ../../../proto "$TOOLGATE_URL")
call() { # errors are JSON on stderr
  buf curl "${target[@]}/toolgate.v1.ToolService/CallTool" -H "Authorization: Bearer $TOOLGATE_KEY" \
    -d '{"tool":"vram_estimate","params":{"model":"llama-3.1-8b","context_length":8192}}' "$@" 2>&1 || true
}
offer() { # the error's detail: a message in base64 without padding
  jq -re '.details[]? | select(.type == "toolgate.v1.PaymentRequired") |
    .value + ("=" * (3 - (.value | length + 3) % 4))' <<<"$1" |
    base64 -d | buf convert ../../../proto --type toolgate.v1.PaymentRequired --to -#format=json
}

answer=$(call)
if jq -e '.code == "failed_precondition"' <<<"$answer" >/dev/null; then
  proof=$(offer "$answer" | node ../node/pay.ts)
  # Not confirmed yet: send the same proof again, never a second payment.
  until answer=$(call -H "X-Payment: $proof") && jq -e '.code != "unavailable"' <<<"$answer" >/dev/null
  do sleep 2; done
fi
jq -ce '.receipt // empty' <<<"$answer" || { jq -r '.message' <<<"$answer" >&2; exit 1; }
