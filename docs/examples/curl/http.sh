#!/usr/bin/env bash
# Buys a tool call with curl and jq.
#   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… ./http.sh
# To pay, it also needs the settings of ../node/pay.ts.
set -euo pipefail
call() {
  curl -sS "$TOOLGATE_URL/v1/mcp/tools/call" -H "Authorization: Bearer $TOOLGATE_KEY" \
    -H 'Content-Type: application/json' -d '{"tool":"vram_estimate","params":{"model":"llama-3.1-8b","context_length":8192}}' "$@"
}

answer=$(call)
if jq -e '.code == "PAYMENT_REQUIRED"' <<<"$answer" >/dev/null; then
  proof=$(node "$(dirname "$0")/../node/pay.ts" <<<"$answer")
  # Not confirmed yet: send the same proof again, never a second payment.
  until answer=$(call -H "X-Payment: $proof") && ! grep -q PAYMENT_PENDING <<<"$answer"; do sleep 2; done
fi
jq -ce '.receipt // empty' <<<"$answer" || { jq -r '.message' <<<"$answer" >&2; exit 1; }
