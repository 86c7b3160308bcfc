import type { Call, Reply } from "./client.ts";
import type { Dice } from "./seeded-random.ts";
import type { Customer } from "./environment.ts";
import { named, PRICE, type Market, type Quoted } from "./market.ts";

/** Customer scenarios and their required outcomes. */
export interface Scenario {
  readonly name: string;
  /** Relative frequency. */
  readonly weight: number;
  play(market: Market, cast: Cast, dice: Dice): Promise<void>;
}

/** The kind of customer. */
export interface Cast {
  /** Have a sufficient balance. */
  readonly rich: readonly Customer[];
  /** Start with nothing and pay on-chain. */
  readonly payers: readonly Customer[];
  /** Have a balance and call without a key. */
  readonly careless: readonly Customer[];
}

/** A call that must return its result. */
export async function buys(
  market: Market,
  dice: Dice,
  customer: Customer,
  call: Call,
  at?: number,
): Promise<void> {
  const reported = await market.insist(dice, customer, call, at);
  if (reported && reported.status !== 200)
    market.tally.violated("a call that is paid for is answered", {
      ...named(customer, call),
      reported: reported.body,
    });
}

export async function paysFor(
  market: Market,
  { payers }: Cast,
  dice: Dice,
  amountOf: (dice: Dice) => bigint,
): Promise<void> {
  const customer = dice.pick(payers);
  const quoted = await quote(market, dice, customer);
  if (quoted) await provesOnce(market, dice, customer, quoted, amountOf(dice));
}

/** Requests a quote for a call with a key. Undefined: the balance paid for the call. */
export async function quote(
  market: Market,
  dice: Dice,
  customer: Customer,
  call: Call = { ...market.estimate(), key: market.key() },
): Promise<Quoted | undefined> {
  const reported = await market.insist(dice, customer, call);
  if (!reported || reported.status === 200) return undefined;
  const { quote } = reported.body;
  if (reported.body.code === "PAYMENT_REQUIRED" && quote)
    return {
      ...{ call, quoteId: quote.quote_id, price: BigInt(quote.price_usdc_microusd) },
      stepId: reported.body.step_id ?? "",
    };
  market.tally.violated("an account without money gets a quote", {
    ...named(customer, call),
    reported: reported.body,
  });
  return undefined;
}

/**
 * Pays a quote and sends the proof, with or without the call's key.
 * @returns the payment
 */
export async function provesOnce(
  market: Market,
  dice: Dice,
  customer: Customer,
  quoted: Quoted,
  amount: bigint,
): Promise<string> {
  const memo = dice.pick([`svc:${quoted.quoteId}`, `${quoted.stepId}:${quoted.quoteId}:${market.number()}`]);
  const tx = await market.pay(customer, amount, memo, customer);
  await settles(market, dice, customer, quoted, tx);
  return tx;
}

/**
 * Pays too little and sends the proof.
 * @returns the payment
 */
export async function underpays(
  market: Market,
  dice: Dice,
  customer: Customer,
  quoted: Quoted,
): Promise<string> {
  const tx = await market.pay(
    customer,
    PRICE - BigInt(dice.between(1, 900)),
    `svc:${quoted.quoteId}`,
    customer,
  );
  expectCredited(market, customer, quoted, tx, await market.insist(dice, customer, prove(quoted, tx)));
  return tx;
}

/** Sends a proof until it bought its call or is credited; then again with other keys at all instances. */
export async function settles(
  market: Market,
  dice: Dice,
  customer: Customer,
  quoted: Quoted,
  tx: string,
): Promise<void> {
  const proof = prove(quoted, tx);
  const bare = { ...proof, key: undefined };
  const first = dice.pick([proof, bare]);
  const reported = await market.insist(dice, customer, first);
  if (reported?.status !== 200) {
    expectCredited(market, customer, quoted, tx, reported);
    return;
  }
  market.reference.toldOf(tx);
  if (reported.body.receipt?.tx_signature !== tx)
    market.tally.violated("a proof buys with its own payment", {
      ...named(customer, first),
      reported: reported.body,
    });
  const again = [proof, bare, { ...proof, key: market.key() }];
  await Promise.all(again.map((call, at) => buys(market, dice, customer, call, at)));
}

export function prove({ call, quoteId }: Quoted, tx: string): Call {
  return { ...call, proof: { tx, quoteId } };
}

/** The payment bought nothing and must be credited, as the response must say. */
function expectCredited(
  market: Market,
  customer: Customer,
  { call }: Quoted,
  tx: string,
  reported: Reply | undefined,
): void {
  if (!reported) return;
  const { code, message = "" } = reported.body;
  const says = /(?:was|had been) credited to your balance/.test(message);
  // A proof of an expired quote is answered without the chain; the treasury watch credits the payment.
  if (
    reported.status === 402 &&
    code === "QUOTE_EXPIRED" &&
    /is credited to your balance once it is finalized/.test(message)
  )
    market.reference.promisedOf(tx);
  else if (reported.status === 402 && (code === "INVALID_PAYMENT" || code === "QUOTE_EXPIRED") && says)
    market.reference.toldOf(tx);
  else
    market.tally.violated("a payment that buys nothing is credited", {
      ...named(customer, call),
      tx,
      reported: reported.body,
    });
}

/**
 * The proof must be rejected.
 * @param codes expected codes; for another account's quote always INVALID_PAYMENT
 */
export function expectRefused(
  market: Market,
  customer: Customer,
  call: Call,
  reported: Reply | undefined,
  codes: readonly string[] = ["INVALID_PAYMENT"],
): void {
  if (reported && (reported.status !== 402 || !codes.includes(reported.body.code ?? "")))
    market.tally.violated("a proof of nobody's or another's payment is refused", {
      ...named(customer, call),
      reported: reported.body,
    });
}
