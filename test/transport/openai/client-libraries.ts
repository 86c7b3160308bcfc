import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent, World } from "../../support/world.ts";
import { vectorAt } from "./embedding-upstream.ts";

/**
 * Tests with clients of the OpenAI API that others wrote.
 * @param charge of an answer of the model `good`, micro-USD
 */
export function clientLibraries(world: World, agent: () => Agent, charge: number): void {
  describe("the AI SDK's provider for the OpenAI API", () => {
    const ai = () =>
      createOpenAICompatible({
        name: "toolgate",
        baseURL: `${world.gateway.baseUrl}/openai/v1`,
        apiKey: agent().apiKey,
        includeUsage: true,
      });

    it("streams text, with counts and charge", async () => {
      const result = streamText({ model: ai()("good"), prompt: "2+2?" });
      expect(await result.text).toBe("Four.");
      expect(await result.finishReason).toBe("stop");
      expect(await result.usage).toMatchObject({
        inputTokens: 11,
        outputTokens: 2,
        raw: { cost_usdc_microusd: charge, receipt_id: expect.stringMatching(/^rcpt_/) },
      });
    });

    it("calls tools", async () => {
      const execute = ({ a, b }: { a: number; b: number }) => a + b;
      const add = tool({ inputSchema: z.object({ a: z.number(), b: z.number() }), execute });
      const stopWhen = isStepCount(2);
      const { text } = await generateText({ model: ai()("tools"), prompt: "2+2?", tools: { add }, stopWhen });
      expect(text).toBe("It is 4.");
    });
  });

  describe("LangChain's classes for the OpenAI API", () => {
    const options = () => ({
      apiKey: agent().apiKey,
      maxRetries: 0,
      configuration: { baseURL: `${world.gateway.baseUrl}/openai/v1` },
    });

    it("answer a chat, whole and streamed, with counts", async () => {
      const model = new ChatOpenAI({ model: "good", ...options() });
      const whole = await model.invoke("2+2?");
      expect(whole.content).toBe("Four.");
      expect(whole.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 2 });
      const parts: unknown[] = [];
      for await (const chunk of await model.stream("2+2?")) parts.push(chunk.content);
      expect(parts.join("")).toBe("Four.");
      const { body } = await world.get(agent(), "/receipts");
      expect(body.items).toMatchObject([
        { debited_usdc_microusd: charge },
        { debited_usdc_microusd: charge },
      ]);
    });

    it("take a second turn with the result of a tool", async () => {
      const model = new ChatOpenAI({ model: "tools", ...options() });
      const add = langChainTool(({ a, b }: { a: number; b: number }) => String(a + b), {
        name: "add",
        schema: z.object({ a: z.number(), b: z.number() }),
      });
      const asked = new HumanMessage("2+2?");
      const called = await model.bindTools([add]).invoke([asked]);
      const results = await Promise.all((called.tool_calls ?? []).map((call) => add.invoke(call)));
      const answer = await model.bindTools([add]).invoke([asked, called, ...results]);
      expect(answer.content).toBe("It is 4.");
    });

    it("embed documents", async () => {
      const model = new OpenAIEmbeddings({ model: "embeds-base64", ...options() });
      expect(await model.embedDocuments(["a", "b"])).toEqual([vectorAt(0), vectorAt(1)]);
    });
  });
}
