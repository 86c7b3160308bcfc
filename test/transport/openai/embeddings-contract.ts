import OpenAI from "openai";
import { beforeEach, describe, expect, it } from "vitest";
import type { ModelServer } from "../../inference/model-server.ts";
import type { Agent, World } from "../../support/world.ts";
import { EMBEDDED, vectorAt } from "./embedding-upstream.ts";

const PATH = "/openai/v1/embeddings";
/** 5 tokens at 2 USD per million. */
const COUNTED = 10;
/** (8 + 1 byte) * 2 for each of two texts. */
const QUOTED = 36;
/** A token for each of the two texts. */
const ESTIMATED = 4;
const input = ["a", "b"];

export function embeddingsContract(world: World, upstream: () => ModelServer): void {
  let agent: Agent;
  let client: OpenAI;
  beforeEach(async () => {
    agent = await world.agent({ balance: 1_000_000n });
    const baseURL = `${world.gateway.baseUrl}/openai/v1`;
    client = new OpenAI({ baseURL, apiKey: agent.apiKey, maxRetries: 0 });
  });
  const receipts = async () => (await world.get(agent, "/receipts")).body.items;
  const post = (body: object, who = agent, headers: Record<string, string> = {}) =>
    world.post(who, PATH, { model: "embeds-numbers", input, ...body }, headers);

  describe("embeddings over the OpenAI API", () => {
    it.each(["embeds-numbers", "embeds-base64", "embeds-unordered"])(
      "answers the official client, with charge and receipt: %s",
      async (model) => {
        const answer = await client.embeddings.create({ model, input, user: "u" });
        const [receipt] = await receipts();
        expect(answer).toMatchObject({
          object: "list",
          model,
          data: [
            { object: "embedding", index: 0, embedding: vectorAt(0) },
            { object: "embedding", index: 1, embedding: vectorAt(1) },
          ],
          usage: { ...EMBEDDED, cost_usdc_microusd: COUNTED, receipt_id: receipt.receipt_id },
        });
        expect(receipt).toMatchObject({
          tool: "inference_embed",
          quoted_usdc_microusd: QUOTED,
          debited_usdc_microusd: COUNTED,
        });
        const sent = JSON.parse(upstream().received.at(-1)?.body ?? "");
        expect(sent).toEqual({ model, input, encoding_format: "base64" });
      },
    );

    it("returns numbers unless base64 is asked for, and replays one answer in both", async () => {
      const { received } = upstream();
      const asked = received.length;
      const key = { "Idempotency-Key": "once" };
      const numbers = await post({}, agent, key);
      expect(numbers.body.data[1].embedding).toEqual(vectorAt(1));
      const { body: coded } = await post({ encoding_format: "base64" }, agent, key);
      expect(Buffer.from(coded.data[1].embedding, "base64").readFloatLE(8)).toBe(vectorAt(1)[2]);
      expect(coded.receipt_id).toBe(numbers.body.receipt_id);
      expect([received.length - asked, (await receipts()).length]).toEqual([1, 1]);
    });

    it("takes a text, tokens, lists of tokens and dimensions", async () => {
      const dimensions = 2;
      for (const one of ["a", [1, 2, 3], [[1, 2], [3]]]) {
        const { data } = await client.embeddings.create({ model: "embeds-base64", input: one, dimensions });
        expect(data[0]?.embedding).toEqual(vectorAt(0, dimensions));
        const { input: sent } = JSON.parse(upstream().received.at(-1)?.body ?? "");
        expect(sent).toEqual(Array.isArray(one) && Array.isArray(one[0]) ? one : [one]);
      }
      const quotes = (await receipts()).map(
        (one: { quoted_usdc_microusd: number }) => one.quoted_usdc_microusd,
      );
      expect(quotes, "newest first: tokens are counted, text is bounded").toEqual([38, 22, 18]);
    });

    it("estimates tokens without a count, and never charges more than the quote", async () => {
      await client.embeddings.create({ model: "embeds-uncounted", input });
      await client.embeddings.create({ model: "embeds-overcounted", input });
      expect(await receipts()).toMatchObject([
        { debited_usdc_microusd: QUOTED },
        { debited_usdc_microusd: ESTIMATED },
      ]);
    });

    it.each(["embeds-too-few", "embeds-twice", "embeds-nothing", "embeds-overflow", "embeds-text"])(
      "charges nothing for an answer that does not fit the input: %s",
      async (model) => {
        const { status, body } = await post({ model });
        expect([status, body.error]).toMatchObject([500, { type: "server_error", code: "TOOL_FAILED" }]);
        expect(await receipts()).toEqual([]);
      },
    );

    it.each([
      [{ input: "" }, "input"],
      [{ input: [] }, "input"],
      [{ input: ["a", ""] }, "input[1]"],
      [{ input: ["a", 1] }, "input[1]"],
      [{ input: [[1], ["a"]] }, "input[1][0]"],
      [{ input: [-1] }, "input"],
      [{ input: null }, "input"],
      [{ input: "x".repeat(1_000) }, "input[0]"],
      [{ input: Array.from({ length: 2_049 }, () => "a") }, "input"],
      [{ dimensions: 4 }, "dimensions"],
      [{ dimensions: 0 }, "dimensions"],
      [{ encoding_format: "hex" }, "encoding_format"],
      [{ stream: true }, "stream"],
      [{ model: "good" }, "model"],
    ])("names the member of %j", async (more, param) => {
      const { status, body } = await post(more);
      expect([status, body.error], body.message).toMatchObject([
        400,
        { type: "invalid_request_error", code: "INVALID_REQUEST", param },
      ]);
    });

    it("offers the whole payment without balance", async () => {
      const { status, body, headers } = await post({}, await world.agent());
      expect([status, body.quote.price_usdc_microusd, body.error.type]).toEqual([
        402,
        QUOTED,
        "insufficient_quota",
      ]);
      const offer = JSON.parse(Buffer.from(headers.get("payment-required") ?? "", "base64").toString());
      expect(offer.resource.url).toBe(world.gateway.baseUrl + PATH);
    });

    it("is inference_embed on /v1, whose model is not one of inference_chat", async () => {
      const { body } = await world.call(agent, "inference_embed", { model: "embeds-base64", input });
      expect(body).toMatchObject({
        result: { type: "embeddings", embeddings: [vectorAt(0), vectorAt(1)], usage: EMBEDDED },
        receipt: { debited_usdc_microusd: COUNTED },
      });
      const chat = await world.call(agent, "inference_chat", {
        model: "embeds-base64",
        messages: [{ role: "user", content: "a" }],
      });
      expect(chat.status).toBe(400);
    });

    it("lists its models with their dimensions", async () => {
      const model = await client.models.retrieve("embeds-numbers");
      expect(model).toMatchObject({ input_usd_per_million: "2", dimensions: 3, context_length: 100 });
    });
  });
}
