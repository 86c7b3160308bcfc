import { createOpenAI } from "@ai-sdk/openai";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIProvider, Runner, tool as agentTool } from "@openai/agents";
import { generateObject, generateText, isStepCount, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { COUNTED, useChatWorld } from "../openai/chat-world.ts";

/** Clients of the Responses API that others wrote, on servers of chat completions and of the same API. */

const chat = useChatWorld();
const schema = z.object({ a: z.number(), b: z.number() });
const sum = ({ a, b }: z.output<typeof schema>) => String(a + b);
const baseURL = () => `${chat.world.gateway.baseUrl}/openai/v1`;

describe("OpenAI's Agents SDK", () => {
  it.each(["tools", "r-tools"])("runs an agent with a tool, whole and streamed: %s", async (model) => {
    const provider = new OpenAIProvider({ openAIClient: chat.client, useResponses: true });
    const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
    const add = agentTool({ name: "add", description: "Adds.", parameters: schema, execute: sum });
    const agent = new Agent({ name: "adder", model, tools: [add] });
    const whole = await runner.run(agent, "2+2?");
    expect(whole.finalOutput).toBe("It is 4.");
    const streamed = await runner.run(agent, "2+2?", { stream: true });
    const parts: string[] = [];
    for await (const part of streamed.toTextStream()) parts.push(part);
    expect([parts.join(""), streamed.finalOutput]).toEqual(["It is 4.", "It is 4."]);
    expect(await chat.receipts()).toHaveLength(4);
  });
});

describe("the AI SDK's provider of OpenAI", () => {
  const ai = () => createOpenAI({ baseURL: baseURL(), apiKey: chat.agent.apiKey });

  it.each(["good", "r-says"])("streams text, with counts: %s", async (model) => {
    const result = streamText({ model: ai()(model), prompt: "2+2?" });
    expect(await result.text).toBe("Four.");
    expect(await result.finishReason).toBe("stop");
    expect(await result.usage).toMatchObject({
      inputTokens: 11,
      outputTokens: 2,
      raw: { cost_usdc_microusd: COUNTED },
    });
  });

  it.each(["thinks-then-says", "r-thinks"])("reads reasoning: %s", async (model) => {
    const { text, reasoningText } = await generateText({ model: ai()(model), prompt: "2+2?" });
    expect([text, reasoningText]).toEqual(["Four.", "Hm."]);
  });

  // What they thought is sent by reference, as the client takes answers for stored.
  it.each(["tools", "r-tools", "r-thinks-tools", "claude-thinks-tools"])("calls tools: %s", async (model) => {
    const add = tool({ inputSchema: schema, execute: sum });
    const stopWhen = isStepCount(2);
    const { text } = await generateText({ model: ai()(model), prompt: "2+2?", tools: { add }, stopWhen });
    expect(text).toBe(model.startsWith("claude") ? "1 results." : "It is 4.");
  });

  it("takes a second turn with store: false, and is refused by name without it", async () => {
    const ask = async (store: boolean) => {
      const options = { model: ai()("good"), providerOptions: { openai: { store } }, maxRetries: 0 };
      const first = { role: "user" as const, content: "2+2?" };
      const { response } = await generateText({ ...options, messages: [first] });
      return generateText({ ...options, messages: [first, ...response.messages, first] });
    };
    expect((await ask(false)).text).toBe("Four.");
    await expect(ask(true)).rejects.toThrow(
      "input.item_reference: nothing is kept between calls; send the item itself",
    );
  });

  it("makes objects", async () => {
    const { object } = await generateObject({
      model: ai()("structured"),
      prompt: "2+2?",
      schema: z.object({ answer: z.number() }),
    });
    expect(object).toEqual({ answer: 4 });
  });
});

describe("LangChain's class for OpenAI", () => {
  const modelOf = (model: string) =>
    new ChatOpenAI({
      model,
      apiKey: chat.agent.apiKey,
      maxRetries: 0,
      useResponsesApi: true,
      configuration: { baseURL: baseURL() },
    });

  it.each(["good", "r-says"])("answers, whole and streamed, with counts: %s", async (model) => {
    const whole = await modelOf(model).invoke("2+2?");
    expect([whole.text, whole.usage_metadata]).toMatchObject([
      "Four.",
      { input_tokens: 11, output_tokens: 2 },
    ]);
    const parts: string[] = [];
    for await (const chunk of await modelOf(model).stream("2+2?")) parts.push(chunk.text);
    expect(parts.join("")).toBe("Four.");
  });

  it.each(["tools", "r-tools"])("takes a second turn with the results of tools: %s", async (model) => {
    const add = langChainTool(sum, { name: "add", schema });
    const asked = new HumanMessage("2+2?");
    const called = await modelOf(model).bindTools([add]).invoke([asked]);
    const results = await Promise.all((called.tool_calls ?? []).map((call) => add.invoke(call)));
    const answer = await modelOf(model)
      .bindTools([add])
      .invoke([asked, called, ...results]);
    expect(answer.text).toBe("It is 4.");
  });
});
