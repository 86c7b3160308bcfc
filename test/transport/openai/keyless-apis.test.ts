import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { beforeEach, describe, expect, it } from "vitest";
import { mppPayer } from "../../interop/mpp-payer.ts";
import { x402Payer, type X402Payer } from "../../interop/x402-payer.ts";
import { COUNTED, messages, QUOTED, useChatWorld } from "./chat-world.ts";

/** The APIs of models in front of wallets without an API key, which pay each call. */

const chat = useChatWorld();
const { world } = chat;
const ask = { model: "good", messages: [{ role: "user" as const, content: "2+2?" }] };
const CHAT = "/x402/openai/v1/chat/completions";
let payer: X402Payer;
beforeEach(async () => {
  payer = await x402Payer(world);
});

const clients = () => {
  const options = { apiKey: "unused", maxRetries: 0, fetch: payer.fetch };
  return {
    openai: new OpenAI({ ...options, baseURL: `${world.gateway.baseUrl}/x402/openai/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: `${world.gateway.baseUrl}/x402/anthropic` }),
  };
};
const paidCalls: Record<string, () => Promise<{ text: string; receipt: unknown }>> = {
  "a chat": async () => {
    const answer = await clients().openai.chat.completions.create({ ...ask });
    return { text: answer.choices[0]?.message.content ?? "", ...receiptIn(answer) };
  },
  "a streamed chat": async () => {
    const chunks = [];
    for await (const chunk of await clients().openai.chat.completions.create({ ...ask, stream: true }))
      chunks.push(chunk);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    return { text, ...receiptIn(chunks.at(-1)) };
  },
  "a response": async () => {
    const answer = await clients().openai.responses.create({ model: "good", input: "2+2?", store: false });
    return { text: answer.output_text, ...receiptIn(answer) };
  },
  "a streamed response": async () => {
    const stream = clients().openai.responses.stream({ model: "good", input: "2+2?", store: false });
    const answer = await stream.finalResponse();
    return { text: answer.output_text, ...receiptIn(answer) };
  },
  "a message": async () => {
    const answer = await clients().anthropic.messages.create({ ...ask, max_tokens: 500 });
    const [block] = answer.content;
    return { text: block?.type === "text" ? block.text : "", ...receiptIn(answer) };
  },
  "a streamed message": async () => {
    const events = [];
    for await (const event of clients().anthropic.messages.stream({ ...ask, max_tokens: 500 }))
      events.push(event);
    const text = events.flatMap((event) =>
      event.type === "content_block_delta" && event.delta.type === "text_delta" ? event.delta.text : [],
    );
    return { text: text.join(""), ...receiptIn(events.find(({ type }) => type === "message_delta")) };
  },
};

function receiptIn(answer: object | undefined): { receipt: unknown } {
  return { receipt: answer && "receipt" in answer ? answer.receipt : undefined };
}

describe("a wallet without an API key", () => {
  it.each(Object.entries(paidCalls))("buys %s with the official clients", async (_, call) => {
    const before = await payer.usdc();
    const { text, receipt } = await call();
    expect(text).toBe("Four.");
    expect(receipt).toMatchObject({ paid_by: "gasless", debited_usdc_microusd: COUNTED });
    const [offer, paid] = payer.exchanges;
    expect([offer?.status, paid?.status, payer.exchanges.length]).toEqual([402, 200, 2]);
    const { quoted_usdc_microusd: quoted } = Object(receipt);
    expect(before - (await payer.usdc())).toBe(BigInt(quoted));
    expect(paid?.headers.get("payment-response")).toMatch(/^\w/);
  });

  it("buys a chat by the scheme Payment", async () => {
    const mpp = await mppPayer(world);
    const openai = new OpenAI({
      ...{ apiKey: "unused", maxRetries: 0, fetch: mpp.fetch },
      baseURL: `${world.gateway.baseUrl}/x402/openai/v1`,
    });
    const before = await mpp.usdc();
    const answer = await openai.chat.completions.create({ ...ask });
    expect(receiptIn(answer).receipt).toMatchObject({ debited_usdc_microusd: COUNTED });
    expect(before - (await mpp.usdc())).toBe(BigInt(QUOTED));
  });
});

describe("a payment of a call without an API key", () => {
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    world.post(undefined, path, body, headers);

  it("buys one call, whose answer a repeat returns, whole or as a stream", async () => {
    const body = { ...ask, messages };
    const offer = await post(CHAT, body);
    expect(offer).toMatchObject({ status: 402, body: { error: { type: "insufficient_quota" } } });
    const proof = { "PAYMENT-SIGNATURE": await payer.sign(offer.headers.get("payment-required") ?? "") };
    const asked = chat.upstream.received.length;
    const first = await post(CHAT, body, proof);
    const again = await post(CHAT, body, proof);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.body.receipt).toEqual(first.body.receipt);
    const streamed = await fetch(`${world.gateway.baseUrl}${CHAT}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...proof },
      body: JSON.stringify({ ...body, stream: true }),
    });
    expect(await streamed.text()).toContain(`"receipt_id":"${first.body.receipt_id}"`);
    expect(chat.upstream.received.length).toBe(asked + 1);
  });

  it.each([
    ["another body", CHAT, { ...ask, temperature: 1 }],
    ["the tool's own parameters", "/x402/inference_chat", ask],
    ["another API", "/x402/anthropic/v1/messages", { ...ask, max_tokens: 500 }],
  ])("buys nothing with %s", async (_, path, body) => {
    const offer = await post(CHAT, ask);
    const proof = { "PAYMENT-SIGNATURE": await payer.sign(offer.headers.get("payment-required") ?? "") };
    const [asked, before] = [chat.upstream.received.length, await payer.usdc()];
    const refused = await post(path, body, proof);
    expect(refused.status).toBe(402);
    expect([chat.upstream.received.length, await payer.usdc()]).toEqual([asked, before]);
    expect((await post(CHAT, ask, proof)).status).toBe(200);
  });

  it("is not asked for where nothing is sold", async () => {
    expect((await post("/x402/openai/v1/completions", ask)).status).toBe(404);
    expect((await post("/x402/anthropic/v1/messages/count_tokens", ask)).status).toBe(401);
    const image_url = { url: `data:image/png;base64,${"A".repeat(2_000_000)}` };
    const large = {
      model: "sees",
      messages: [{ role: "user", content: [{ type: "image_url", image_url }] }],
    };
    expect((await post(CHAT, large)).status).toBe(413);
  });
});
