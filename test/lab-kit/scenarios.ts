import { memoOf, prove, type Buyer, type Quoted } from "./buyer.ts";
import { FINALIZED_ABOVE, PRICE, QUOTE_TTL_SECONDS } from "./ground.ts";
import type { Market } from "./market.ts";
import type { Dice } from "./random.ts";
import { walletBuys } from "./wallet.ts";

/** What a customer does. */
interface Scenario {
  /** Relative frequency. */
  readonly weight: number;
  play(market: Market, dice: Dice): Promise<unknown>;
}

/** Time by which a vanished payment is reversed, ms, given a leader. */
const TAKEN_BACK_MS = 15_000;

/** Error codes for a false proof of an own quote, which may have expired. */
const EXPIRES = ["INVALID_PAYMENT", "QUOTE_EXPIRED"];

const FORMS = [{ openai: undefined }, { openai: "whole" }, { openai: "streamed" }] as const;

/** Calls that the balance pays. */
const BALANCE: readonly Scenario[] = [
  { weight: 55, play: (market, dice) => market.any("rich", dice).buys(market.keyed()) },
  // One key at all instances at once.
  { weight: 12, play: (market, dice) => market.any("rich", dice).buysEverywhere(market.keyed()) },
  // A caller that hangs up, and comes back.
  {
    weight: 10,
    async play(market, dice) {
      const [buyer, call] = [market.any("rich", dice), market.keyed()];
      await buyer.once(call, dice.between(1, 30));
      await buyer.buys(call);
    },
  },
  // A free call.
  {
    weight: 3,
    play(market, dice) {
      const call = { tool: "echo", params: { message: `${market.number()}` }, key: market.key() };
      return market.any("rich", dice).buys(call);
    },
  },
  // Without a key: the answer may be lost.
  {
    weight: 3,
    play(market, dice) {
      const buyer = market.any("careless", dice);
      market.reference.of(buyer.customer).nameless++;
      return buyer.once(market.estimate(), dice.pick([20, 5_000]));
    },
  },
];

/** Metered calls over /v1 and the OpenAI API, whole and streamed: held at their price, charged their use. */
const METERED: readonly Scenario[] = [
  { weight: 5, play: (market, dice) => market.any("rich", dice).buys(market.chat()) },
  // Streamed, then whole.
  {
    weight: 8,
    async play(market, dice) {
      const [buyer, call] = [market.any("rich", dice), market.chat("streamed")];
      await buyer.buys(call);
      await buyer.buys({ ...call, openai: "whole" });
    },
  },
  {
    weight: 2,
    play: (market, dice) => market.any("rich", dice).buysEverywhere(market.chat(dice.pick(FORMS).openai)),
  },
  // A stream that its caller leaves, and comes back to.
  {
    weight: 4,
    async play(market, dice) {
      const [buyer, call] = [market.any("rich", dice), market.chat("streamed")];
      await buyer.once(call, dice.between(5, 60));
      await buyer.buys({ ...call, openai: dice.pick(["whole", "streamed"]) });
    },
  },
  { weight: 1, play: (market, dice) => market.any("rich", dice).buys(market.chat("streamed", "breaks off")) },
  {
    weight: 3,
    async play(market, dice) {
      const buyer = market.any("payers", dice);
      const quoted = await buyer.quote(market.chat(dice.pick(FORMS).openai));
      if (quoted) await buyer.provesOnce(quoted, quoted.price);
    },
  },
];

/** A payer asks for a quote, and goes on with it. */
function quoted(weight: number, next: (buyer: Buyer, quote: Quoted) => unknown): Scenario {
  return {
    weight,
    async play(market, dice) {
      const buyer = market.any("payers", dice);
      const quote = await buyer.quote();
      if (quote) await next(buyer, quote);
    },
  };
}

/** The same for a customer with an account of its own, whose payment may be removed by a fork. */
function quotedAlone(weight: number, next: (buyer: Buyer, quote: Quoted) => Promise<unknown>): Scenario {
  return {
    weight,
    async play(market, dice) {
      const buyer = await market.newcomer(dice);
      const quote = await buyer.quote();
      if (quote) await next(buyer, quote);
    },
  };
}

/** Quotes that are paid, rightly and wrongly. */
const PAID: readonly Scenario[] = [
  quoted(6, (buyer, quote) => buyer.provesOnce(quote, PRICE)),
  quoted(1.5, (buyer, quote) => buyer.provesOnce(quote, PRICE + BigInt(buyer.dice.between(1, 900)))),
  quoted(0.3, (buyer, quote) => buyer.provesOnce(quote, FINALIZED_ABOVE)),
  quoted(1.5, (buyer, quote) => buyer.underpays(quote)),
  // Too late.
  quoted(0.6, (buyer, quote) =>
    buyer.market.later(QUOTE_TTL_SECONDS * 1_100, () => buyer.provesOnce(quote, PRICE)),
  ),
  // Twice.
  quoted(1, (buyer, quote) => {
    const bare = { ...quote, call: { ...quote.call, key: undefined } };
    return Promise.all([0n, 1n].map((more) => buyer.provesOnce(bare, PRICE + more)));
  }),
  // Without a proof.
  quoted(1, (buyer, quote) => buyer.pays(PRICE, memoOf(quote))),
  // With a memo of no quote.
  quoted(0.8, (buyer, quote) => {
    const number = buyer.market.number();
    const memo = buyer.dice.pick([`svc:qt_nobody${number}`, `thank you ${number}`]);
    return buyer.isRefused(prove(quote, buyer.pays(PRICE, memo, null)), EXPIRES);
  }),
  // A proof that another account shows first.
  quoted(1, async (buyer, quote) => {
    const { market, dice } = buyer;
    const thief = market.any("payers", dice);
    if (thief.customer === buyer.customer) return;
    const tx = buyer.pays(PRICE, memoOf(quote));
    const stolen = { ...prove(quote, tx), key: market.key() };
    await thief.isRefused(stolen);
    await buyer.settles(quote, tx);
    await thief.isRefused(stolen);
  }),
  // A fork takes the payment away when it has bought its call.
  quotedAlone(0.15, async (buyer, quote) => buyer.market.drop(await buyer.provesOnce(quote, PRICE))),
  // The same when it is on the balance.
  quotedAlone(0.15, async (buyer, quote) => {
    const tx = await buyer.underpays(quote);
    buyer.market.drop(tx);
    buyer.market.later(TAKEN_BACK_MS, () => buyer.isRefused(prove(quote, tx), EXPIRES));
  }),
];

export const SCENARIOS: readonly Scenario[] = [
  ...BALANCE,
  ...METERED,
  ...PAID,
  { weight: 4, play: walletBuys },
];
