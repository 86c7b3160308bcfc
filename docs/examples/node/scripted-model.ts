// Stands in for a model in ai-sdk.ts: calls one tool, then repeats the result as its answer.
import { MockLanguageModelV4 } from "ai/test";

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 0, text: 0, reasoning: undefined },
};

export const scripted = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last?.role === "tool") {
      const text = JSON.stringify(last.content);
      return {
        content: [{ type: "text", text }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      };
    }
    const input = JSON.stringify({ model: "llama-3.1-8b", context_length: 8192 });
    const call = { type: "tool-call" as const, toolCallId: "1", toolName: "vram_estimate", input };
    return { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
  },
});
