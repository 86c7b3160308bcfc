import { setTimeout as sleep } from "node:timers/promises";
import { wrongChat } from "./chat-answer.ts";
import { post, type Call, type Reply } from "./client.ts";
import { PRICE, type Customer } from "./ground.ts";
import type { Market } from "./market.ts";
import type { Dice } from "./random.ts";

/** How long customers wait before they retry at another instance, ms. */
const WAITS = [300, 1_200, 3_000, 15_000];

/** A quote and its call. */
export interface Quoted {
  readonly call: Call;
  readonly quoteId: string;
  /** The most that the call costs, micro-USD. */
  readonly price: bigint;
  readonly stepId: string;
}

/** Sends the calls of a customer to any instance until the outcome is definite, and records it. */
export class Buyer {
  readonly market: Market;
  readonly customer: Customer;
  readonly dice: Dice;

  constructor(market: Market, customer: Customer, dice: Dice) {
    this.market = market;
    this.customer = customer;
    this.dice = dice;
  }

  /** Sends a call once to any instance. */
  async once(call: Call, ms: number, at?: number): Promise<Reply | undefined> {
    const { targets, tally } = this.market;
    const all = targets();
    const working = all.filter((target) => target !== undefined);
    const target = at === undefined ? undefined : all[at % all.length];
    if (target === undefined && working.length === 0) return undefined;
    tally.count("requests");
    const reply = await post(target ?? this.dice.pick(working), this.customer, call, ms);
    tally.answered(reply ? `${reply.status} ${reply.body.code ?? ""}`.trim() : "no answer");
    if (reply) this.#judge(call, reply);
    return reply;
  }

  /**
   * Retries a call until its outcome is definite, with the same key or proof, at any instance.
   * @param at the instance of the first try
   * @returns undefined when it never was: a violation
   */
  async insist(call: Call, at?: number): Promise<Reply | undefined> {
    const since = performance.now();
    let last: Reply | undefined;
    for (let turn = 0; performance.now() - since < this.market.patienceMs; turn++) {
      // Retrying without a pause would overload a busy service.
      const waitMs = Math.max(this.dice.pick(WAITS), Math.min(500 * turn, 5_000));
      last = await this.once(call, waitMs, turn === 0 ? at : undefined);
      if (last && !isPassing(last)) return last;
      await sleep(this.dice.between(20, last ? 400 : 100));
    }
    this.violated("a call that is repeated comes to an end", call, last);
    return undefined;
  }

  /** A call that must return its result. */
  async buys(call: Call, at?: number): Promise<void> {
    const reply = await this.insist(call, at);
    if (reply && reply.status !== 200) this.violated("a call that is paid for is answered", call, reply);
  }

  /** The same at all instances at once. */
  async buysEverywhere(...calls: readonly [Call, ...Call[]]): Promise<void> {
    await Promise.all([0, 1, 2].map((at) => this.buys(calls[at] ?? calls[0], at)));
  }

  /** Requests a quote for a call with a key. Undefined: the balance paid for the call. */
  async quote(call = this.market.keyed()): Promise<Quoted | undefined> {
    const reply = await this.insist(call);
    if (!reply || reply.status === 200) return undefined;
    const { quote, code, step_id: stepId = "" } = reply.body;
    if (code === "PAYMENT_REQUIRED" && quote)
      return { call, quoteId: quote.quote_id, price: BigInt(quote.price_usdc_microusd), stepId };
    this.violated("an account without money gets a quote", call, reply);
    return undefined;
  }

  /** Pays the treasury. @param owner the account whose quote the memo names; null: none */
  pays(amount: bigint, memo: string, owner: Customer | null = this.customer): string {
    const tx = this.market.ground.pay(this.customer.wallet, amount, memo);
    this.market.reference.paid(tx, amount, owner ?? undefined);
    this.market.tally.count("payments");
    return tx;
  }

  /** Pays a quote and sends the proof, with or without the call's key. @returns the payment */
  async provesOnce(quoted: Quoted, amount: bigint): Promise<string> {
    const { quoteId, stepId } = quoted;
    const memo = this.dice.pick([memoOf(quoted), `${stepId}:${quoteId}:${this.market.number()}`]);
    const tx = this.pays(amount, memo);
    await this.settles(quoted, tx);
    return tx;
  }

  /** Pays too little and sends the proof. @returns the payment */
  async underpays(quoted: Quoted): Promise<string> {
    const tx = this.pays(PRICE - BigInt(this.dice.between(1, 900)), memoOf(quoted));
    this.#expectCredited(quoted, tx, await this.insist(prove(quoted, tx)));
    return tx;
  }

  /** Sends a proof until it bought its call or is credited; then again with other keys at all instances. */
  async settles(quoted: Quoted, tx: string): Promise<void> {
    const proof = prove(quoted, tx);
    const bare = { ...proof, key: undefined };
    const first = this.dice.pick([proof, bare]);
    const reply = await this.insist(first);
    if (reply?.status !== 200) return this.#expectCredited(quoted, tx, reply);
    this.boughtWith(tx, first, reply);
    await this.buysEverywhere(proof, bare, { ...proof, key: this.market.key() });
  }

  /** The payment must be that of the receipt. */
  boughtWith(tx: string, call: Call, reply: Reply): void {
    this.market.reference.payment(tx).credited = true;
    if (reply.body.receipt?.tx_signature !== tx)
      this.violated("a proof buys with its own payment", call, reply);
  }

  /** The proof must be rejected. @param codes for another account's quote always INVALID_PAYMENT */
  async isRefused(proof: Call, codes: readonly string[] = ["INVALID_PAYMENT"]): Promise<void> {
    const reply = await this.insist(proof);
    if (reply && (reply.status !== 402 || !codes.includes(reply.body.code ?? "")))
      this.violated("a proof of another's payment, or of none, is refused", proof, reply);
  }

  violated(promise: string, { tool, key, proof }: Call, reply: Reply | undefined, more?: object): void {
    const call = { account: this.customer.accountId, tool, key, tx: proof?.tx };
    this.market.tally.violated(promise, { ...call, reply: reply?.body, ...more });
  }

  /** The payment bought nothing and must be credited, as the response must say. */
  #expectCredited(quoted: Quoted, tx: string, reply: Reply | undefined): void {
    if (!reply) return;
    const { code = "", message = "" } = reply.body;
    const payment = this.market.reference.payment(tx);
    const refused = reply.status === 402 && ["INVALID_PAYMENT", "QUOTE_EXPIRED"].includes(code);
    // A proof of an expired quote is answered without the chain; the treasury watch credits the payment.
    if (refused && message.includes("is credited to your balance once it is finalized"))
      payment.promised = true;
    else if (refused && /(?:was|had been) credited to your balance/.test(message)) payment.credited = true;
    else this.violated("a payment that buys nothing is credited", prove(quoted, tx), reply);
  }

  #judge(call: Call, reply: Reply): void {
    const { reference, tally } = this.market;
    if (reply.status === 200) {
      tally.count("acknowledged");
      if (call.tool === "inference_chat") tally.count("metered");
      if (this.customer.apiKey === undefined) tally.count("keyless");
      if (call.openai === "streamed") tally.count("streamed");
      const differs = reference.sold(this.customer, call, reply);
      if (differs) this.violated("a repeated call gets the same answer", call, reply, differs);
      const wrong = wrongSale(call, reply);
      if (wrong !== undefined)
        this.violated("an answer is that of its call, and charged at its price", call, reply, { wrong });
    } else if (reference.wasSold(this.customer, call) && !isPassing(reply)) {
      this.violated("a repeated call gets its result again", call, reply);
    }
    if (reply.body.code === "INTERNAL") this.violated("no fault is an internal error", call, reply);
  }
}

export function prove({ call, quoteId }: Quoted, tx: string): Call {
  return { ...call, proof: { tx, quoteId } };
}

export function memoOf({ quoteId }: Quoted): string {
  return `svc:${quoteId}`;
}

/** Whether the response requests a retry without a decision. */
function isPassing({ status, body }: Reply): boolean {
  if ([202, 409, 429, 503].includes(status) || (status === 500 && body.code === "TOOL_FAILED")) return true;
  return status === 402 && body.message?.includes("is not on the chain yet") === true;
}

function wrongSale({ tool, params }: Call, { body }: Reply): string | undefined {
  if (tool === "inference_chat") return wrongChat(params, body);
  const asked: Readonly<Record<string, unknown>> = { ...params };
  if (tool === "echo")
    return body.result?.["echo"] === asked["message"] ? undefined : "another call's result";
  const inputs: Readonly<Record<string, unknown>> = { ...Object(body.result?.["inputs"]) };
  if (inputs["context_length"] !== asked["context_length"]) return "another call's result";
  return body.receipt?.debited_usdc_microusd === Number(PRICE) ? undefined : "another amount, or no receipt";
}
