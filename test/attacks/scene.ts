import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { Quotes, type SealingKeys } from "../../src/domain/payments/quote.ts";
import { fingerprint } from "../../src/domain/calls/fingerprint.ts";
import { formatUsdc } from "../../src/domain/core/money.ts";
import { systemRandom } from "../../src/system.ts";
import { memoOf, startWorld, xPayment, type Agent, type Answer, type World } from "../support/world.ts";

/** The paid call that most attacks are about, and its price in micro-USD. */
export const TOOL = "vram_estimate";
export const PARAMS = { model: "llama-3.1-8b" };
export const PRICE = 1_000n;

/** A gateway whose treasury job runs once, before any payment, so that only tests move money. */
export function startScene(settings: Record<string, string> = {}, slotMs?: number): Promise<World> {
  return startWorld({ WATCH_INTERVAL_MS: "600000", ...settings }, slotMs);
}

/** The fields of a 402 that a payer needs. */
export interface Offer {
  quoteId: string;
  stepId: string;
  /** The short memo form. */
  memo: string;
}

/** Requests a quote. */
export async function offerFor(world: World, agent: Agent, params: object = PARAMS): Promise<Offer> {
  const { status, body } = await world.call(agent, TOOL, params);
  expect(status, JSON.stringify(body)).toBe(402);
  return { quoteId: body.quote.quote_id, stepId: body.step_id, memo: memoOf(body.quote) };
}

/** A quote that the installation issued `secondsAgo`, good for 300 s. */
export function pastOffer(keys: SealingKeys, agent: Agent, secondsAgo: number): Offer {
  const clock = { now: () => Date.now() - secondsAgo * 1_000 };
  const quotes = new Quotes(keys, clock, systemRandom, 300);
  const { quoteId } = quotes.issue(agent.accountId, PRICE, fingerprint(TOOL, PARAMS));
  return { quoteId, stepId: "", memo: `svc:${quoteId}` };
}

/** Repeats the call with the proof in the header. */
export function callWith(
  world: World,
  agent: Agent,
  tx: string,
  quoteId: string,
  extra: object = {},
): Promise<Answer> {
  return world.call(agent, TOOL, PARAMS, { headers: xPayment(tx, quoteId), body: extra });
}

/** Repeats the call with the proof in the body. */
export function callWithBody(world: World, agent: Agent, proof: Record<string, unknown>): Promise<Answer> {
  return world.call(agent, TOOL, PARAMS, {
    body: { payment_proof: { network: "solana-mainnet", ...proof }, idempotency_key: randomUUID() },
  });
}

/** Error for a transaction that was charged or credited before. */
export const USED = /the transaction was used for another call/;

/** Exactly the error body of specification 7, and never another quote inside. */
export function expectRefused(answer: Answer, message: RegExp, code = "INVALID_PAYMENT", status = 402): void {
  expect(answer.body).toEqual({
    code,
    message: expect.stringMatching(message),
    request_id: answer.headers.get("x-request-id"),
    ...("retry_after_seconds" in answer.body && {
      retry_after_seconds: Number(answer.headers.get("retry-after")),
    }),
  });
  expect(answer.status).toBe(status);
}

/** A result and a receipt that names this payment. */
export function expectBought(answer: Answer, tx: string, quoteId: string): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(answer.body).toMatchObject({
    ok: true,
    result: { total: expect.anything() },
    receipt: {
      tx_signature: tx,
      quote_id: quoteId,
      debited_usdc_microusd: Number(PRICE),
      paid_by: "transfer",
    },
  });
}

/** Asserts the balance in micro-USD, which may be negative, and the number of charged calls. */
export async function expectAccount(
  world: World,
  agent: Agent,
  account: { balance: bigint; receipts: number },
): Promise<void> {
  const [status, receipts] = await Promise.all([
    world.call(agent, "get_status", {}),
    world.get(agent, "/receipts"),
  ]);
  const reported = { balance: status.body.result.balance_usdc, receipts: receipts.body.items.length };
  expect(reported).toEqual({ ...account, balance: formatUsdc(account.balance) });
}

/** Nothing credited, nothing charged. */
export function expectNothing(world: World, agent: Agent): Promise<void> {
  return expectAccount(world, agent, { balance: 0n, receipts: 0 });
}
