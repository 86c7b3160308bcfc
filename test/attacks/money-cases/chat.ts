import { expect } from "vitest";
import { memoOf, xPayment, type Agent, type Answer, type World } from "../../support/world.ts";

/** A paid call whose model a test delays or fails (test/support/model-server.ts). */
export const CHAT = {
  tool: "inference_chat",
  params: { model: "small", messages: [{ role: "user", content: "Two and two?" }], max_tokens: 10 },
};

/** A quote for the chat, and the transaction that paid it. */
export interface PaidChat {
  quoteId: string;
  tx: string;
  /** Micro-USD. */
  price: bigint;
  /** The proof. */
  headers: Record<string, string>;
}

/** Calls the tool with the given extras. */
export function chat(
  world: World,
  agent: Agent,
  extra: { headers?: Record<string, string>; body?: object } = {},
): Promise<Answer> {
  return world.call(agent, CHAT.tool, CHAT.params, extra);
}

/** Requests a quote and pays it on the chain, with a surplus. */
export async function payChat(world: World, agent: Agent, surplus = 0n): Promise<PaidChat> {
  const { status, body } = await chat(world, agent);
  expect(status, JSON.stringify(body)).toBe(402);
  const price = BigInt(body.quote.price_usdc_microusd);
  const tx = await world.pay(agent, price + surplus, memoOf(body.quote));
  return { quoteId: body.quote.quote_id, tx, price, headers: xPayment(tx, body.quote.quote_id) };
}

/** The chat's answer, and a receipt over its price that names the payment. */
export function expectChatBought(answer: Answer, { tx, quoteId, price }: PaidChat): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(answer.body).toMatchObject({
    ok: true,
    result: { content: "Hello." },
    receipt: {
      tx_signature: tx,
      quote_id: quoteId,
      paid_by: "transfer",
      quoted_usdc_microusd: Number(price),
      debited_usdc_microusd: Number(price),
      refunded_usdc_microusd: 0,
      status: "final",
    },
  });
}

/** The statuses of the account's runs, newest first. */
export async function statusesOfRuns(world: World, agent: Agent): Promise<string[]> {
  const { body } = await world.get(agent, "/runs");
  return body.items.map(({ status }: { status: string }) => status);
}
