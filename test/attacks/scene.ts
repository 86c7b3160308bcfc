import { randomUUID } from "node:crypto";
import type { Keypair, TransactionInstruction } from "@solana/web3.js";
import { expect } from "vitest";
import { Quotes, type SealingKeys } from "../../src/domain/payments/quote.ts";
import { fingerprint } from "../../src/domain/calls/call-context.ts";
import { formatUsdc } from "../../src/domain/core/money.ts";
import { systemRandom } from "../../src/system.ts";
import { useWorld } from "../support/use-world.ts";
import { boundParameters, encodeJson, SOLANA_CHARGE } from "../../src/domain/payments/payment-auth.ts";
import { memoOf, request, xPayment, type Agent, type Answer, type World } from "../support/world.ts";

/** The paid call that most attacks are about, and its price in micro-USD. */
export const TOOL = "vram_estimate";
export const PARAMS = { model: "llama-3.1-8b" };
export const OTHER_PARAMS = { model: "llama-3.1-70b" };
export const PRICE = 1_000n;

/** A gateway whose treasury job runs once, before any payment, so that only tests move money. */
export const useScene = useWorld;

/** The fields of a 402 that a payer needs. */
export interface Offer {
  quoteId: string;
  stepId: string;
  memo: string;
}

export interface Extra {
  headers?: Record<string, string>;
  body?: object;
}

async function offerFor(world: World, agent: Agent, params: object = PARAMS): Promise<Offer> {
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

/** The header in which {@link Buyer.prove} names a payment; a file may change it before its tests. */
export const proofs: { by: "X-Payment" | "Authorization" } = { by: "X-Payment" };

/** Answers a challenge of the quote, which binds no body, by a transfer (push). */
function credentialOf(keys: SealingKeys, signature: string, quoteId: string): string {
  const quotes = new Quotes(keys, Date, systemRandom, 300);
  const asked = { realm: "127.0.0.1", ...SOLANA_CHARGE, request: encodeJson({}), expires: undefined };
  const challenge = { ...asked, digest: undefined, opaque: encodeJson({ quote_id: quoteId }) };
  const id = quotes.open(quoteId) ? quotes.challengeId({ quoteId }, boundParameters(challenge)) : "unknown";
  const payload = { type: "signature", signature };
  return `Payment ${encodeJson({ challenge: { id, ...challenge }, payload })}`;
}

/** An account that has requested a quote of the paid call. */
export class Buyer {
  readonly #world: World;
  readonly agent: Agent;
  readonly offer: Offer;

  constructor(world: World, agent: Agent, offer: Offer) {
    this.#world = world;
    this.agent = agent;
    this.offer = offer;
  }

  get quoteId(): string {
    return this.offer.quoteId;
  }

  memo(nonce: string | number = 1): string {
    return `${this.offer.stepId}:${this.offer.quoteId}:${nonce}`;
  }

  /** The same account with another quote. */
  async again(params?: object): Promise<Buyer> {
    return new Buyer(this.#world, this.agent, await offerFor(this.#world, this.agent, params));
  }

  /** Pays the treasury. @returns the transaction's signature */
  pay(amount = PRICE, memo = this.offer.memo): Promise<string> {
    return this.#world.pay(this.agent, amount, memo);
  }

  send(instructions: readonly TransactionInstruction[], ...signers: readonly Keypair[]): Promise<string> {
    return this.#world.send(this.agent, instructions, ...signers);
  }

  call(extra: Extra = {}, params: object = PARAMS): Promise<Answer> {
    return this.#world.call(this.agent, TOOL, params, extra);
  }

  /** Makes the paid call with the proof in the header. */
  prove(tx: string, body: object = {}, { quoteId } = this.offer): Promise<Answer> {
    if (proofs.by === "X-Payment") return this.call({ headers: xPayment(tx, quoteId), body });
    const { gateway, postgres } = this.#world;
    const headers = {
      Authorization: credentialOf(postgres.sealingKeys, tx, quoteId),
      "X-API-Key": this.agent.apiKey,
    };
    const init = { method: "POST", body: JSON.stringify({ tool: TOOL, params: PARAMS, ...body }) };
    return request(gateway, undefined, "/v1/mcp/tools/call", init, headers);
  }

  /** Makes the paid call with the proof in the body. */
  claim(proof: Record<string, unknown>): Promise<Answer> {
    const payment_proof = { network: "solana-mainnet", ...proof };
    return this.call({ body: { payment_proof, idempotency_key: randomUUID() } });
  }

  async expectRefused(tx: string, message: RegExp, code?: string, status?: number): Promise<void> {
    expectRefused(await this.prove(tx), message, code, status);
  }

  async expectBought(tx: string, body: object = {}): Promise<Answer> {
    const answer = await this.prove(tx, body);
    expectBought(answer, tx, this.quoteId);
    return answer;
  }

  /** Asserts the balance in micro-USD, which may be negative, and the number of charged calls. */
  async expectAccount(balance: bigint, receipts: number): Promise<void> {
    const [status, list] = await Promise.all([
      this.#world.call(this.agent, "get_status", {}),
      this.#world.get(this.agent, "/receipts"),
    ]);
    const reported = { balance: status.body.result.balance_usdc, receipts: list.body.items.length };
    expect(reported).toEqual({ receipts, balance: formatUsdc(balance) });
  }

  /** Nothing credited, nothing charged. */
  expectNothing(): Promise<void> {
    return this.expectAccount(0n, 0);
  }

  /** The calls that one payment buys are one: nothing is left of the payment. */
  expectOneCall(): Promise<void> {
    return this.expectAccount(0n, 1);
  }

  /** The operator adds to the balance. */
  async deposit(amount: bigint): Promise<void> {
    const { accountId } = this.agent;
    const reason = { reason: "test", idempotencyKey: randomUUID() };
    await this.#world.postgres.accounts.adjust({ accountId, amount, ...reason });
  }

  /** The statuses of the account's runs, newest first. */
  async runs(): Promise<string[]> {
    const { body } = await this.#world.get(this.agent, "/runs");
    return body.items.map(({ status }: { status: string }) => status);
  }

  async receipts(query = ""): Promise<Answer["body"][]> {
    return (await this.#world.get(this.agent, `/receipts${query}`)).body.items;
  }
}

/** A new account with an open quote. */
export async function buyer(world: World): Promise<Buyer> {
  const agent = await world.agent();
  return new Buyer(world, agent, await offerFor(world, agent));
}

/** A new account that has paid its quote. */
export async function payer(world: World): Promise<{ by: Buyer; tx: string }> {
  const by = await buyer(world);
  return { by, tx: await by.pay() };
}
