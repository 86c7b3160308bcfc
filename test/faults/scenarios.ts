import { CHAT_SCENARIOS } from "./chat-scenarios.ts";
import { WALLET_SCENARIOS } from "./wallet-scenarios.ts";
import { PRICE, QUOTE_TTL_SECONDS } from "./market.ts";
import {
  buys,
  expectRefused,
  paysFor,
  prove,
  provesOnce,
  quote,
  settles,
  underpays,
  type Scenario,
} from "./purchases.ts";

/** Time by which a vanished payment is reversed, ms, given a leader. */
const TAKEN_BACK_MS = 15_000;

/** Amount from which payments must be finalized, micro-USD, set on the instances. */
export const FINALIZED_ABOVE = 3_000n;

/** Error codes for a false proof of an own quote, which may have expired. */
const EXPIRES = ["INVALID_PAYMENT", "QUOTE_EXPIRED"];

export const SCENARIOS: readonly Scenario[] = [
  ...CHAT_SCENARIOS,
  ...WALLET_SCENARIOS,
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
