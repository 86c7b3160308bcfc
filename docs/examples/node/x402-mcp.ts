// Calls a tool over MCP with @x402/fetch, gasless.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json \
//   SOLANA_RPC_URL=https://… node x402-mcp.ts
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
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

const client = new Client({ name: "buyer", version: "1.0.0" });
const headers = { Authorization: `Bearer ${TOOLGATE_KEY}` };
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${TOOLGATE_URL}/mcp`), {
    requestInit: { headers },
    fetch: paying,
  }),
);
const call = { name: "vram_estimate", arguments: { model: "llama-3.1-8b", context_length: 8192 } };
const { content, _meta } = await client.callTool(call);
console.log(content, _meta?.["toolgate/receipt"]);
await client.close();
