#!/usr/bin/env bash
# Buys a tool call over Connect with curl and jq.
#   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… ./connect.sh
# To pay, it also needs the settings of ../node/pay.ts.
set -euo pipefail
call() {
  curl -sS "$TOOLGATE_URL/toolgate.v1.ToolService/CallTool" -H "Authorization: Bearer $TOOLGATE_KEY" \
    -H 'Content-Type: application/json' -d '{"tool":"vram_estimate","params":{"model":"llama-3.1-8b","context_length":8192}}' "$@"
}

answer=$(call)
if offer=$(jq -e '.details[]? | select(.type == "toolgate.v1.PaymentRequired") | .debug' <<<"$answer"); then
  proof=$(node "$(dirname "$0")/../node/pay.ts" <<<"$offer")
  # Not confirmed yet: send the same proof again, never a second payment.
  until answer=$(call -H "X-Payment: $proof") && ! grep -q PAYMENT_PENDING <<<"$answer"; do sleep 2; done
fi
jq -ce '.receipt // empty' <<<"$answer" || { jq -r '.message' <<<"$answer" >&2; exit 1; }
