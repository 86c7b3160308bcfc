import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { keypairSigner, payingFetch } from "../../../src/client/index.ts";
import { COUNTED, QUOTED, useChatWorld } from "../openai/chat-world.ts";
import { USAGE } from "./responses-upstream.ts";

const chat = useChatWorld();
const { world, receipts } = chat;
const input = "2+2?";
const CHARGED = { ...USAGE, cost_usdc_microusd: COUNTED, receipt_id: expect.stringMatching(/^rcpt_/) };
const add = {
  type: "function" as const,
  name: "add",
  description: "Adds.",
  strict: false,
  parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
};

type Events = OpenAI.Responses.ResponseStreamEvent[];
type Params = Omit<OpenAI.Responses.ResponseCreateParamsStreaming, "stream">;

async function streamed(params: Params, headers: Record<string, string> = {}): Promise<Events> {
  const events: Events = [];
  const stream = await chat.client.responses.create({ ...params, stream: true }, { headers });
  for await (const event of stream) events.push(event);
  return events;
}

const textOf = (events: Events) =>
  events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
const sent = () => JSON.parse(chat.upstream.received.at(-1)?.body ?? "");

describe("the Responses API", () => {
  // Servers of chat completions, and of the same API.
  it.each(["good", "r-says"])("answers the official client, with charge and receipt: %s", async (model) => {
    const answer = await chat.client.responses.create({ model, input });
    const [receipt] = await receipts();
    expect(answer).toMatchObject({
      object: "response",
      status: "completed",
      model,
      output_text: "Four.",
      store: false,
      usage: CHARGED,
      receipt_id: receipt?.["receipt_id"],
      receipt,
    });
    expect(receipt).toMatchObject({ tool: "inference_chat", quoted_usdc_microusd: QUOTED });
    expect(answer.id).toBe(`resp_${String(receipt?.["run_id"]).slice(4)}`);
  });

  it.each(["good", "r-says"])("streams numbered events, the last one with the charge: %s", async (model) => {
    const events = await streamed({ model, input });
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
    expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    expect(textOf(events)).toBe("Four.");
    expect(events.at(-1)).toMatchObject({ response: { usage: CHARGED } });
  });

  it.each(["good", "r-says"])(
    "replays the answer for a repeated key, whole or as a stream: %s",
    async (model) => {
      const headers = { "Idempotency-Key": "once" };
      const first = await streamed({ model, input }, headers);
      const again = await streamed({ model, input }, headers);
      expect([textOf(again), again.at(-1)]).toEqual([
        "Four.",
        { ...first.at(-1), sequence_number: again.length - 1 },
      ]);
      const whole = await chat.client.responses.create({ model, input }, { headers });
      expect(whole.output_text).toBe("Four.");
      expect(await receipts()).toHaveLength(1);
    },
  );

  it.each(["tools", "r-tools"])("calls functions, and takes their results: %s", async (model) => {
    const runner = chat.client.responses.stream({ model, input, tools: [add] });
    const first = await runner.finalResponse();
    const calls = first.output.filter((item) => item.type === "function_call");
    expect(calls[0]).toMatchObject({ name: "add", arguments: '{"a":2,"b":2}' });
    const results = calls.map(({ call_id }) => ({
      type: "function_call_output" as const,
      call_id,
      output: "4",
    }));
    const second = await chat.client.responses.create({
      model,
      tools: [add],
      input: [{ role: "user", content: input }, ...calls, ...results],
    });
    expect(second.output_text).toBe("It is 4.");
  });

  it("parses structured answers", async () => {
    const text = { format: zodTextFormat(z.object({ answer: z.number() }), "answer") };
    const parsed = await chat.client.responses.parse({ model: "structured", input, text });
    expect(parsed.output_parsed).toEqual({ answer: 4 });
    expect(sent()).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "answer" } },
    });
  });

  it("passes a request to servers of the same API as it came, and reasoning back", async () => {
    const thought = { id: "rs_0", type: "reasoning" as const, summary: [], encrypted_content: "gAAA" };
    const params = {
      model: "r-thinks",
      input: [{ role: "user" as const, content: input }, thought],
      include: ["reasoning.encrypted_content" as const],
      reasoning: { effort: "low" as const, summary: "auto" as const },
      max_output_tokens: 20,
    };
    const answer = await chat.client.responses.create({ ...params, store: true });
    expect(sent()).toEqual({ ...params, store: false, stream: true });
    expect(answer.output).toMatchObject([
      { type: "reasoning", encrypted_content: "gAAA" },
      { type: "message" },
    ]);
    const completed = await chat.client.chat.completions.create({
      model: "r-thinks",
      messages: [{ role: "user", content: input }],
    });
    expect(completed.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: "Four.", reasoning_content: "Hm." },
    });
    expect(completed.usage).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 2,
      cost_usdc_microusd: COUNTED,
    });
  });

  it("says what it left out, and refuses by name what cannot be left out", async () => {
    const answer = await chat.client.responses.create({
      model: "good",
      input,
      tools: [{ type: "web_search" }],
    });
    expect(answer).toMatchObject({ notes: [expect.stringContaining("tools.web_search: left out")] });
    const refused = chat.client.responses.create({ model: "good", input, previous_response_id: "resp_1" });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      param: "previous_response_id",
      message: expect.stringContaining("send the whole conversation as input"),
    });
    await expect(chat.client.responses.retrieve("resp_1")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  it("takes images as data URLs, and fetches none for its model's server", async () => {
    const image = (image_url: string) => [
      {
        role: "user" as const,
        content: [{ type: "input_image" as const, image_url, detail: "auto" as const }],
      },
    ];
    // Longer than other bodies may be: it is cut out of the body, and put back.
    const url = `data:image/png;base64,${"A".repeat(2_000_000)}`;
    const answer = await chat.client.responses.create({ model: "sees", input: image(url) });
    expect(answer.output_text).toBe("A cat.");
    expect(sent().messages).toMatchObject([{ content: [{ type: "image_url", image_url: { url } }] }]);
    await chat.client.responses.create({ model: "r-says", input: image(url) });
    expect(sent().input).toEqual(image(url));
    await expect(
      chat.client.responses.create({ model: "good", input: image("data:image/png;base64,AA==") }),
    ).rejects.toMatchObject({
      status: 400,
    });
  });

  it("is paid for by a wallet, call by call", async () => {
    const poor = await world.agent();
    const signer = keypairSigner(poor.wallet.secretKey);
    const fetch = payingFetch({ signer, maxPrice: "0.01", budget: "0.01" });
    const answer = await chat.openAi(poor, { fetch }).responses.create({ model: "good", input });
    expect(answer).toMatchObject({ output_text: "Four.", receipt: { paid_by: "gasless" } });
  });

  it("answers errors in each status, as the other calls of the OpenAI API", async () => {
    const broke = await world.agent({ balance: 1n });
    const statuses = [
      [chat.openAi({ ...broke, apiKey: "tg_wrong" }), { model: "good", input }, 401, "authentication_error"],
      [chat.openAi(broke), { model: "good", input }, 402, "insufficient_quota"],
      [chat.client, { model: "none", input }, 400, "invalid_request_error"],
      [chat.client, { model: "r-refuses", input }, 400, "invalid_request_error"],
      [chat.client, { model: "refuses", input }, 400, "invalid_request_error"],
      [chat.client, { model: "r-fails", input }, 500, "server_error"],
    ] as const;
    for (const [client, params, status, type] of statuses)
      for (const stream of [false, true])
        await expect(client.responses.create({ ...params, stream })).rejects.toMatchObject({ status, type });
    expect(await receipts()).toEqual([]);
  });
});
