import type { Call, Reply } from "./client.ts";
import type { Dice } from "./seeded-random.ts";
import type { Customer } from "./environment.ts";
import { named, PRICE, QUOTE_TTL_SECONDS, type Market, type Quoted } from "./market.ts";

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

/** Time by which a vanished payment is reversed, ms, given a leader. */
const TAKEN_BACK_MS = 15_000;

/** Amount from which payments must be finalized, micro-USD, set on the instances. */
export const FINALIZED_ABOVE = 3_000n;

/** Error codes for a false proof of an own quote, which may have expired. */
const EXPIRES = ["INVALID_PAYMENT", "QUOTE_EXPIRED"];

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "a call from the balance, under a key",
    weight: 55,
    async play(market, { rich }, dice) {
      const [customer, call] = [dice.pick(rich), { ...market.estimate(), key: market.key() }];
      await buys(market, dice, customer, call);
    },
  },
  {
    name: "one key at all instances at once",
    weight: 12,
    async play(market, { rich }, dice) {
      const [customer, call] = [dice.pick(rich), { ...market.estimate(), key: market.key() }];
      await Promise.all([0, 1, 2].map((at) => buys(market, dice, customer, call, at)));
    },
  },
  {
    name: "a caller that hangs up, and comes back",
    weight: 10,
    async play(market, { rich }, dice) {
      const [customer, call] = [dice.pick(rich), { ...market.estimate(), key: market.key() }];
      await market.once(dice, customer, call, dice.between(1, 30));
      await buys(market, dice, customer, call);
    },
  },
  {
    name: "a free call under a key",
    weight: 3,
    async play(market, { rich }, dice) {
      const number = market.number();
      const call = { tool: "echo", params: { message: `${number}` }, key: market.key(number) };
      await buys(market, dice, dice.pick(rich), call);
    },
  },
  {
    name: "a call without a key, whose answer may be lost",
    weight: 3,
    async play(market, { careless }, dice) {
      const customer = dice.pick(careless);
      market.reference.sentNameless(customer);
      await market.once(dice, customer, market.estimate(), dice.pick([20, 5_000]));
    },
  },
  { name: "a quote paid exactly", weight: 6, play: (...all) => paysFor(...all, () => PRICE) },
  {
    name: "a quote overpaid",
    weight: 1.5,
    play: (...all) => paysFor(...all, (dice) => PRICE + BigInt(dice.between(1, 900))),
  },
  { name: "a large payment", weight: 0.3, play: (...all) => paysFor(...all, () => FINALIZED_ABOVE) },
  {
    name: "a quote underpaid",
    weight: 1.5,
    async play(market, { payers }, dice) {
      const customer = dice.pick(payers);
      const quoted = await quote(market, dice, customer);
      if (quoted) await underpays(market, dice, customer, quoted);
    },
  },
  {
    name: "a quote paid too late",
    weight: 0.6,
    async play(market, { payers }, dice) {
      const due = market.due(this.name);
      if (due) return due();
      const customer = dice.pick(payers);
      const quoted = await quote(market, dice, customer);
      if (!quoted) return;
      market.later(this.name, QUOTE_TTL_SECONDS * 1_100, async () => {
        await provesOnce(market, dice, customer, quoted, PRICE);
      });
    },
  },
  {
    name: "a quote paid twice",
    weight: 1,
    async play(market, { payers }, dice) {
      const customer = dice.pick(payers);
      const quoted = await quote(market, dice, customer);
      if (!quoted) return;
      const bare = { ...quoted, call: { ...quoted.call, key: undefined } };
      await Promise.all([0n, 1n].map((more) => provesOnce(market, dice, customer, bare, PRICE + more)));
    },
  },
  {
    name: "a quote that is paid without a proof",
    weight: 1,
    async play(market, { payers }, dice) {
      const customer = dice.pick(payers);
      const quoted = await quote(market, dice, customer);
      if (quoted) await market.pay(customer, PRICE, `svc:${quoted.quoteId}`, customer);
    },
  },
  {
    name: "a memo that is not ours",
    weight: 0.8,
    async play(market, { payers }, dice) {
      const customer = dice.pick(payers);
      const quoted = await quote(market, dice, customer);
      if (!quoted) return;
      const memo = dice.pick([`svc:qt_nobody${market.number()}`, `thank you ${market.number()}`]);
      const tx = await market.pay(customer, PRICE, memo, undefined);
      const proof = prove(quoted, tx);
      expectRefused(market, customer, proof, await market.insist(dice, customer, proof), EXPIRES);
    },
  },
  {
    name: "a proof that another account shows first",
    weight: 1,
    async play(market, { payers }, dice) {
      const [customer, thief] = dice.shuffle(payers);
      if (!customer || !thief) return;
      const quoted = await quote(market, dice, customer);
      if (!quoted) return;
      const tx = await market.pay(customer, PRICE, `svc:${quoted.quoteId}`, customer);
      const stolen = { ...prove(quoted, tx), key: market.key() };
      expectRefused(market, thief, stolen, await market.insist(dice, thief, stolen));
      await settles(market, dice, customer, quoted, tx);
      expectRefused(market, thief, stolen, await market.insist(dice, thief, stolen));
    },
  },
  {
    name: "a payment that a fork takes away when it has bought its call",
    weight: 0.15,
    async play(market, _cast, dice) {
      const customer = await market.newcomer();
      const quoted = await quote(market, dice, customer);
      if (!quoted) return;
      const tx = await provesOnce(market, dice, customer, quoted, PRICE);
      await market.drop(tx);
    },
  },
  {
    name: "a payment that a fork takes away when it is on the balance",
    weight: 0.15,
    async play(market, _cast, dice) {
      const due = market.due(this.name);
      if (due) return due();
      const customer = await market.newcomer();
      const quoted = await quote(market, dice, customer);
      if (!quoted) return;
      const tx = await underpays(market, dice, customer, quoted);
      await market.drop(tx);
      market.later(this.name, TAKEN_BACK_MS, async () => {
        const proof = prove(quoted, tx);
        expectRefused(market, customer, proof, await market.insist(dice, customer, proof), EXPIRES);
      });
    },
  },
];

/** A call that must return its result. */
async function buys(market: Market, dice: Dice, customer: Customer, call: Call, at?: number): Promise<void> {
  const reported = await market.insist(dice, customer, call, at);
  if (reported && reported.status !== 200)
    market.tally.violated("a call that is paid for is answered", {
      ...named(customer, call),
      reported: reported.body,
    });
}

async function paysFor(
  market: Market,
  { payers }: Cast,
  dice: Dice,
  amountOf: (dice: Dice) => bigint,
): Promise<void> {
  const customer = dice.pick(payers);
  const quoted = await quote(market, dice, customer);
  if (quoted) await provesOnce(market, dice, customer, quoted, amountOf(dice));
}

/** Requests a quote under a key. Undefined: the balance paid for the call. */
async function quote(market: Market, dice: Dice, customer: Customer): Promise<Quoted | undefined> {
  const call = { ...market.estimate(), key: market.key() };
  const reported = await market.insist(dice, customer, call);
  if (!reported || reported.status === 200) return undefined;
  const { quote } = reported.body;
  if (reported.body.code === "PAYMENT_REQUIRED" && quote)
    return { call, quoteId: quote.quote_id, stepId: reported.body.step_id ?? "" };
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
async function provesOnce(
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
async function underpays(market: Market, dice: Dice, customer: Customer, quoted: Quoted): Promise<string> {
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
async function settles(
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

function prove({ call, quoteId }: Quoted, tx: string): Call {
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
function expectRefused(
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
