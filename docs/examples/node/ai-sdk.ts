// Runs a tool loop of the AI SDK whose calls pay.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json \
//   MODEL=openai/gpt-5 node ai-sdk.ts
import { createMCPClient } from "@ai-sdk/mcp";
import { generateText, isStepCount } from "ai";
import { paying } from "./paying.ts";
import { scripted } from "./scripted-model.ts";
import { settings } from "./settings.ts";

const { TOOLGATE_URL, TOOLGATE_KEY } = settings("TOOLGATE_URL", "TOOLGATE_KEY");
const toolgate = await createMCPClient({
  transport: {
    type: "http",
    url: `${TOOLGATE_URL}/mcp`,
    headers: { Authorization: `Bearer ${TOOLGATE_KEY}` },
    fetch: paying,
  },
});
const { text, steps } = await generateText({
  model: process.env["MODEL"] ?? scripted, // without MODEL a script stands in
  tools: await toolgate.tools(),
  stopWhen: isStepCount(5),
  prompt: "How much memory of a GPU does llama-3.1-8b need for 8192 tokens?",
});
// The receipt is in _meta.
for (const { output } of steps.flatMap(({ toolResults }) => toolResults)) console.log(output);
console.log(text);
await toolgate.close();
