// Buys a tool call with the typed client of toolgate-client.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json node client.ts
import { ToolgateClient } from "toolgate-client";
import { payment } from "./paying.ts";
import { settings } from "./settings.ts";

const { TOOLGATE_URL, TOOLGATE_KEY } = settings("TOOLGATE_URL", "TOOLGATE_KEY");
const toolgate = new ToolgateClient({ baseUrl: TOOLGATE_URL, apiKey: TOOLGATE_KEY, payment });
const { result, receipt } = await toolgate.callTool("vram_estimate", {
  model: "llama-3.1-8b",
  context_length: 8192,
});
console.log(result["total"], receipt);
