import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { ModelServer } from "../../inference/model-server.ts";
import type { Agent, World } from "../../support/world.ts";

const messages = [{ role: "user" as const, content: "2+2?" }];

/** Reads a stream that ends with an error. */
export async function brokenStream(client: OpenAI, model: string, headers: Record<string, string> = {}) {
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  const body = { model, messages, stream: true as const };
  const stream = await client.chat.completions.create(body, { headers });
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch (error) {
    if (error instanceof OpenAI.APIError)
      return { text: chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), error };
  }
  throw new Error("the stream ended without an error");
}

/** Streams that their model server broke off, and refusals of it. @param charges micro-USD */
export function brokenStreams(
  world: World,
  upstream: () => ModelServer,
  agent: () => Agent,
  { counted, uncounted }: { readonly counted: number; readonly uncounted: number },
): void {
  const client = (options: object = {}) =>
    new OpenAI({
      baseURL: `${world.gateway.baseUrl}/openai/v1`,
      apiKey: agent().apiKey,
      maxRetries: 0,
      ...options,
    });
  const receipts = async () => (await world.get(agent(), "/receipts")).body.items;
  /** Model, code of the error that ends the stream, charge. */
  const cases = [
    ["upstream died in mid-stream", "dies-after-text", "connection_lost", uncounted],
    ["upstream stalled in mid-stream", "stalls-after-text", "timeout", uncounted],
    ["upstream stalled after a count", "counts", "timeout", counted],
  ] as const;

  describe("broken streams", () => {
    it.each(cases)(
      "%s: ends with an error that says what was delivered and charged, and replays it",
      async (_, model, code, charge) => {
        const key = { "Idempotency-Key": "once" };
        const first = await brokenStream(client(), model, key);
        const [receipt] = await receipts();
        expect(receipt).toMatchObject({ debited_usdc_microusd: charge });
        expect([first.text, first.error.code, first.error.type]).toEqual(["Fo", code, "server_error"]);
        expect(first.error.message).toContain(
          `after 2 characters; charged: $0.00000${charge}, receipt ${String(receipt?.["receipt_id"])}`,
        );
        const again = await brokenStream(client(), model, key);
        expect([again.text, again.error.message]).toEqual([first.text, first.error.message]);
        const whole = await client().chat.completions.create({ model, messages }, { headers: key });
        expect(whole.choices[0]).toMatchObject({ finish_reason: "length", original_finish_reason: code });
        expect(await receipts()).toHaveLength(1);
      },
    );
  });

  describe("requests that the model's server refuses", () => {
    it("say what the model's server says, which is asked once", async () => {
      const asked = upstream().received.length;
      const retrying = client({ maxRetries: 2 });
      for (const stream of [false, true]) {
        const refused: unknown = await retrying.chat.completions
          .create({ model: "refuses", messages, stream })
          .catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
        expect(refused).toMatchObject({
          status: 400,
          code: "context_length_exceeded",
          type: "invalid_request_error",
          param: "messages",
          message: /maximum context length is 8192 tokens; nothing was charged/,
        });
      }
      expect([upstream().received.length - asked, await receipts()]).toEqual([2, []]);
      const { status, body } = await world.call(agent(), "inference_chat", { model: "refuses", messages });
      expect([status, body.code, body.refusal]).toEqual([400, "TOOL_FAILED", undefined]);
    });
  });
}
