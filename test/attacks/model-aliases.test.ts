import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMPLETION, json, modelServer, type ModelServer } from "../inference/model-server.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, xPayment, type Agent, type Answer } from "../support/world.ts";

/** A model alias resolves for each call; its price must hold from the quote to the charge. */

const TERMS = { context_length: 10_000, max_output_tokens: 100 };
const LARGE = { id: "large", ...TERMS, input_usd_per_million: 20, output_usd_per_million: 60 };
const SMALL = { id: "small", ...TERMS, input_usd_per_million: 2, output_usd_per_million: 6 };
const messages = [{ role: "user", content: "2+2?" }];
/** (64 + 8 + 4) tokens in and 100 out, at most. */
const QUOTES = { large: 7_520, small: 752 };

const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-aliases-"));
let agents: Agent[];
/** Models whose server refuses calls for a second. */
const busy = new Set<string>();
const asked: string[] = [];
let server: ModelServer;
const world = useWorld(async () => {
  server = await modelServer((response) => {
    const { model } = JSON.parse(server.received.at(-1)?.body ?? "{}");
    if (busy.has(model)) return json(response, 503, {}, { "Retry-After": "1" });
    asked.push(model);
    // More tokens than any quote covers.
    const usage = { prompt_tokens: 5_000, completion_tokens: 5_000, total_tokens: 10_000 };
    json(response, 200, { ...COMPLETION, usage });
  });
  const aliases = [
    { id: "fast", models: ["large", "small"] },
    { id: "low", models: ["large", "small"], by: "price" },
  ];
  const upstreams = [{ name: "main", base_url: server.baseUrl, models: [LARGE, SMALL] }];
  const file = path.join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ inference: { aliases, upstreams } }));
  return { TOOLGATE_CONFIG: file };
});
beforeAll(async () => {
  agents = await Promise.all([1, 2, 3].map(() => world.agent({ balance: 1_000_000n })));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const chat = (agent: Agent, model: string, headers: Record<string, string> = {}): Promise<Answer> =>
  world.call(agent, "inference_chat", { model, messages }, { headers });

async function modelOf(agent: Agent, { body }: Answer): Promise<unknown> {
  return (await world.get(agent, `/runs/${body.receipt.run_id}`)).body.model;
}

/** Quotes the alias until it is the model's; three accounts are refused by the busy one. */
async function quoteFor(
  poor: Agent,
  alias: string,
  model: keyof typeof QUOTES,
): Promise<{ quote_id: string }> {
  let quote = { quote_id: "" };
  const quoted = async () => {
    for (const each of busy) for (const agent of agents) await chat(agent, each);
    const { status, body } = await chat(poor, alias);
    quote = body.quote;
    return [status, body.quote?.price_usdc_microusd];
  };
  await expect.poll(quoted).toEqual([402, QUOTES[model]]);
  return quote;
}

/** Pays a quote of one model and sends the proof when the alias stands for the other. */
async function payWhenChanged(before: keyof typeof QUOTES, after: keyof typeof QUOTES): Promise<Answer> {
  const poor = await world.agent();
  busy.clear();
  if (before === "small") busy.add("large");
  const quote = await quoteFor(poor, "fast", before);
  const tx = await world.pay(poor, BigInt(QUOTES[before]), memoOf(quote));
  busy.clear();
  if (after === "small") busy.add("large");
  await quoteFor(await world.agent(), "fast", after);
  asked.length = 0;
  const answer = await chat(poor, "fast", xPayment(tx, quote.quote_id));
  // Its quote is for one call with these parameters, and for no named model.
  const named = await chat(poor, after, xPayment(tx, quote.quote_id));
  expect(named.body.code).toBe("INVALID_PAYMENT");
  return answer;
}

describe("a model alias", () => {
  it("runs the quoted model and charges its quote, although a larger model is chosen now", async () => {
    const { status, body } = await payWhenChanged("small", "large");
    expect([status, asked]).toEqual([200, ["small"]]);
    expect(body).toMatchObject({
      result: { model: "small" },
      receipt: { quoted_usdc_microusd: QUOTES.small, debited_usdc_microusd: QUOTES.small },
    });
  });

  it("runs no other model than the quoted one while that refuses calls, and charges nothing", async () => {
    const { status, body } = await payWhenChanged("large", "small");
    expect([status, body.code, asked]).toEqual([503, "UNAVAILABLE", []]);
  });

  it("returns the stored answer under its key, although it stands for another model now", async () => {
    busy.clear();
    const key = { "Idempotency-Key": "alias-1" };
    const agent = await world.agent({ balance: 1_000_000n });
    const poor = await world.agent();
    await quoteFor(poor, "fast", "large");
    const first = await chat(agent, "fast", key);
    expect(first.body).toMatchObject({ result: { model: "large" } });
    busy.add("large");
    await quoteFor(poor, "fast", "small");
    expect((await chat(agent, "fast", key)).body).toEqual(first.body);
    expect(await modelOf(agent, first)).toBe("large");
    const other = await chat(agent, "fast");
    expect(other.body).toMatchObject({ result: { model: "small" } });
    expect((await world.get(agent, "/receipts")).body.items).toHaveLength(2);
  });

  it("stands for the model with the lowest quote, if so configured, and is charged at most that", async () => {
    busy.clear();
    const agent = await world.agent({ balance: 1_000_000n });
    const answer = await chat(agent, "low", { "Idempotency-Key": "low-1" });
    expect(await modelOf(agent, answer)).toBe("small");
    // A call without a key has no stored result.
    expect(await modelOf(agent, await chat(agent, "low"))).toBeNull();
    const { items } = (await world.get(agent, "/runs")).body;
    expect(items.map(({ model }: { model: unknown }) => model)).toEqual([null, null]);
    expect(answer.body).toMatchObject({
      result: { model: "small" },
      receipt: { quoted_usdc_microusd: QUOTES.small, debited_usdc_microusd: QUOTES.small },
    });
  });

  it("is listed for clients of the OpenAI API, whose answer names the model", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const low = { object: "model", alias_of: ["large", "small"], chosen_by: "price", id: "low" };
    const list = await world.get(agent, "/openai/v1/models");
    expect(list.body.data).toEqual(expect.arrayContaining([expect.objectContaining(low)]));
    expect((await world.get(agent, "/openai/v1/models/low")).body).toMatchObject(low);
    const { body } = await world.post(agent, "/openai/v1/chat/completions", { model: "low", messages });
    expect(body).toMatchObject({ model: "small", usage: { cost_usdc_microusd: QUOTES.small } });
  });
});
