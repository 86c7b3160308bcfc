// Buys a tool call with mppx and @solana/mpp, gasless.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json \
//   SOLANA_RPC_URL=https://… node mpp.ts
import { readFileSync } from "node:fs";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { solana } from "@solana/mpp/client";
import { Fetch } from "mppx/client";
import { settings } from "./settings.ts";

const { TOOLGATE_URL, TOOLGATE_KEY, SOLANA_RPC_URL } = settings(
  "TOOLGATE_URL",
  "TOOLGATE_KEY",
  "SOLANA_RPC_URL",
);
const { WALLET = "wallet.json" } = process.env;
const key = Uint8Array.from(JSON.parse(readFileSync(WALLET, "utf8")));
const charge = solana.charge({ signer: await createKeyPairSignerFromBytes(key), rpcUrl: SOLANA_RPC_URL });
const paying = Fetch.from({ methods: [charge] });

const response = await paying(`${TOOLGATE_URL}/v1/mcp/tools/call`, {
  method: "POST",
  headers: { "X-API-Key": TOOLGATE_KEY, "Content-Type": "application/json" },
  body: JSON.stringify({ tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } }),
});
const { result, receipt, code, message } = JSON.parse(await response.text());
if (!response.ok) throw new Error(`${code}: ${message}`);
console.log(result.total, receipt);
