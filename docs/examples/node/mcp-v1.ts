// Calls a tool with the MCP SDK v1 and a fetch that pays.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json node mcp-v1.ts
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { paying } from "./paying.ts";
import { settings } from "./settings.ts";

const { TOOLGATE_URL, TOOLGATE_KEY } = settings("TOOLGATE_URL", "TOOLGATE_KEY");
const transport = new StreamableHTTPClientTransport(new URL(`${TOOLGATE_URL}/mcp`), {
  requestInit: { headers: { Authorization: `Bearer ${TOOLGATE_KEY}` } },
  fetch: paying,
});
const client = new Client({ name: "buyer", version: "1.0.0" });
await client.connect(transport);
const { tools } = await client.listTools();
console.log(tools.map(({ name }) => name)); // [ 'get_status', 'echo', 'vram_estimate', … ]
const call = { name: "vram_estimate", arguments: { model: "llama-3.1-8b", context_length: 8192 } };
const { content, _meta } = await client.callTool(call);
console.log(content, _meta?.["toolgate/receipt"]);
await client.close();
