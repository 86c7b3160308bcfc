// Buys a tool call with @x402/fetch, gasless.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json \
//   SOLANA_RPC_URL=https://… node x402.ts
import { readFileSync } from "node:fs";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm";
import { settings } from "./settings.ts";

const { TOOLGATE_URL, TOOLGATE_KEY, SOLANA_RPC_URL } = settings(
  "TOOLGATE_URL",
  "TOOLGATE_KEY",
  "SOLANA_RPC_URL",
);
const { WALLET = "wallet.json" } = process.env;
const key = Uint8Array.from(JSON.parse(readFileSync(WALLET, "utf8")));
const scheme = new ExactSvmScheme(await createKeyPairSignerFromBytes(key), { rpcUrl: SOLANA_RPC_URL });
const paying = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "solana:*", client: scheme }] });

const response = await paying(`${TOOLGATE_URL}/v1/mcp/tools/call`, {
  method: "POST",
  headers: { Authorization: `Bearer ${TOOLGATE_KEY}`, "Content-Type": "application/json" },
  body: JSON.stringify({ tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } }),
});
const { result, receipt, code, message } = JSON.parse(await response.text());
if (!response.ok) throw new Error(`${code}: ${message}`);
console.log(result.total, receipt);
