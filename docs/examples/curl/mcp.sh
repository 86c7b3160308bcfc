#!/usr/bin/env bash
# Calls a tool over MCP with curl and jq.
#   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… ./mcp.sh
# To pay, it also needs the settings of ../node/pay.ts.
set -euo pipefail
call() {
  curl -sS "$TOOLGATE_URL/mcp" -H "Authorization: Bearer $TOOLGATE_KEY" -H 'Content-Type: application/json' \
    -H 'MCP-Protocol-Version: 2025-11-25' "$@" -d '
    {"jsonrpc":"2.0","id":1,"method":"tools/call",
     "params":{"name":"vram_estimate","arguments":{"model":"llama-3.1-8b","context_length":8192}}}'
}

answer=$(call)
if jq -e '.error.code == 402' <<<"$answer" >/dev/null; then
  proof=$(jq '.error.data' <<<"$answer" | node "$(dirname "$0")/../node/pay.ts")
  # Not confirmed yet: send the same proof again, never a second payment.
  until answer=$(call -H "X-Payment: $proof") && ! grep -q PAYMENT_PENDING <<<"$answer"; do sleep 2; done
fi
jq -ce '.result._meta["toolgate/receipt"] // empty' <<<"$answer" ||
  { jq -r '.error.message? // .message' <<<"$answer" >&2; exit 1; }
