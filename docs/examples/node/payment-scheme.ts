// Buys a tool call with payingFetch by the HTTP scheme Payment (MPP), gasless.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json node payment-scheme.ts
import { paying } from "./paying.ts";
import { settings } from "./settings.ts";

const { TOOLGATE_URL, TOOLGATE_KEY } = settings("TOOLGATE_URL", "TOOLGATE_KEY");
const response = await paying(`${TOOLGATE_URL}/v1/mcp/tools/call`, {
  method: "POST",
  headers: {
    "X-API-Key": TOOLGATE_KEY,
    "Content-Type": "application/json",
    "Accept-Payment": "solana/charge", // other servers need none: their challenges are paid anyway
  },
  body: JSON.stringify({ tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } }),
});
const { result, receipt, code, message } = JSON.parse(await response.text());
if (!response.ok) throw new Error(`${code}: ${message}`);
console.log(result.total, receipt);
