import { createAnthropic } from "@ai-sdk/anthropic";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { generateText, isStepCount, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useChatWorld } from "../openai/chat-world.ts";

/** Clients of Anthropic's API that others wrote, in front of servers of both kinds. */

const chat = useChatWorld();
const baseUrl = () => `${chat.world.gateway.baseUrl}/anthropic`;
const MODELS = [
  { says: "good", tools: "tools", answer: "It is 4." },
  { says: "claude-says", tools: "claude-tools", answer: "2 results." },
] as const;
const numbers = z.object({ a: z.number(), b: z.number() });

describe.each(MODELS)("in front of $says", ({ says, tools, answer }) => {
  const ai = () => createAnthropic({ baseURL: `${baseUrl()}/v1`, apiKey: chat.agent.apiKey });

  it("the AI SDK streams text, with counts", async () => {
    const result = streamText({ model: ai()(says), prompt: "2+2?" });
    expect([await result.text, await result.finishReason]).toEqual(["Four.", "stop"]);
    expect((await result.usage).outputTokens).toBeGreaterThan(1);
  });

  it("the AI SDK calls tools", async () => {
    const add = tool({ inputSchema: numbers, execute: ({ a, b }: { a: number; b: number }) => a + b });
    const stopWhen = isStepCount(2);
    const { text } = await generateText({ model: ai()(tools), prompt: "2+2?", tools: { add }, stopWhen });
    expect(text).toBe(answer);
  });

  it("LangChain answers whole and streamed, and calls tools", async () => {
    const model = (name: string) =>
      new ChatAnthropic({
        model: name,
        maxTokens: 100,
        apiKey: chat.agent.apiKey,
        anthropicApiUrl: baseUrl(),
        maxRetries: 0,
      });
    const whole = await model(says).invoke("2+2?");
    expect(whole.text).toBe("Four.");
    const parts: string[] = [];
    for await (const chunk of await model(says).stream("2+2?")) parts.push(chunk.text);
    expect(parts.join("")).toBe("Four.");
    const add = langChainTool(({ a, b }: { a: number; b: number }) => String(a + b), {
      name: "add",
      schema: numbers,
    });
    const asked = new HumanMessage("2+2?");
    const bound = model(tools).bindTools([add]);
    const called = await bound.invoke([asked]);
    const results = await Promise.all((called.tool_calls ?? []).map((call) => add.invoke(call)));
    expect((await bound.invoke([asked, called, ...results])).text).toBe(answer);
  });
});
