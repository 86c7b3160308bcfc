import { expect, it } from "vitest";
import { objectOf } from "../../../src/domain/core/json.ts";
import { useChatWorld } from "../openai/chat-world.ts";

/** The price of a body of each API, before it is sent. */

const chat = useChatWorld();
const messages = [{ role: "user", content: "2+2?" }];
const PARAMETERS = { type: "object", properties: { a: { type: "string" } } };

async function post(path: string, body: object, key?: string) {
  const response = await fetch(chat.world.gateway.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key !== undefined && { "x-api-key": key }) },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: objectOf(await response.json()) };
}

it.each([
  ["/openai/v1/chat/completions", { model: "good", messages }],
  [
    "/openai/v1/chat/completions",
    {
      model: "good",
      messages,
      tools: [{ type: "function", function: { name: "f", parameters: PARAMETERS } }],
    },
  ],
  ["/openai/v1/responses", { model: "good", input: "2+2?", stream: true, max_output_tokens: 20 }],
  ["/anthropic/v1/messages", { model: "good", max_tokens: 9, stream: true, messages }],
  ["/anthropic/v1/messages", { model: "claude-says", max_tokens: 9, system: "Be brief.", messages }],
  ["/openai/v1/embeddings", { model: "embeds-base64", input: "2+2?" }],
])("at %s is the quote of the same call, and asks for nothing else", async (path, body) => {
  const { apiKey } = await chat.world.agent({ balance: 0n });
  const refused = await post(path, body, apiKey);
  const received = chat.upstream.received.length;
  const priced = await post(`${path}/price`, body, apiKey);
  const quote = objectOf(refused.body["quote"]);
  expect([refused.status, priced.status]).toEqual([402, 200]);
  const price = quote["price_usdc_microusd"];
  expect(priced.body).toMatchObject({
    price_usdc_microusd: price,
    missing_usdc_microusd: price,
    balance_usdc_microusd: 0,
    metered: true,
  });
  expect(chat.upstream.received.length).toBe(received);
});

it.each([
  [
    "without a key",
    "/openai/v1/responses/price",
    { model: "good", input: "2+2?" },
    false,
    401,
    "authentication_error",
  ],
  ["without a model", "/openai/v1/responses/price", { input: "2+2?" }, true, 400, "invalid_request_error"],
  [
    "of another API",
    "/anthropic/v1/messages/price",
    { model: "good", input: "2+2?" },
    true,
    400,
    "invalid_request_error",
  ],
  ["of a path without a price", "/openai/v1/models/price", {}, true, 405, "invalid_request_error"],
])("is refused %s", async (_, path, body, keyed, status, type) => {
  const answer = await post(path, body, keyed ? chat.agent.apiKey : undefined);
  expect([answer.status, objectOf(answer.body["error"])["type"]]).toEqual([status, type]);
});
