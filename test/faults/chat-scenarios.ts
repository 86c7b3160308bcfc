import type { Call } from "./client.ts";
import type { Market } from "./market.ts";
import { buys, provesOnce, quote, type Scenario } from "./purchases.ts";
import type { Dice } from "./seeded-random.ts";

/** Metered calls over /v1 and the OpenAI API, whole and streamed: held at their price, charged their use. */
export const CHAT_SCENARIOS: readonly Scenario[] = [
  {
    name: "a metered call from the balance",
    weight: 5,
    async play(market, { rich }, dice) {
      await buys(market, dice, dice.pick(rich), { ...market.chat(), key: market.key() });
    },
  },
  {
    name: "a streamed call, then whole",
    weight: 8,
    async play(market, { rich }, dice) {
      const customer = dice.pick(rich);
      const call: Call = { ...market.chat(), key: market.key(), openai: "streamed" };
      await buys(market, dice, customer, call);
      await buys(market, dice, customer, { ...call, openai: "whole" });
    },
  },
  {
    name: "one key for streams at all instances at once",
    weight: 2,
    async play(market, { rich }, dice) {
      const [customer, call] = [dice.pick(rich), chat(market, dice)];
      await Promise.all([0, 1, 2].map((at) => buys(market, dice, customer, call, at)));
    },
  },
  {
    name: "a stream that its caller leaves, and comes back to",
    weight: 4,
    async play(market, { rich }, dice) {
      const customer = dice.pick(rich);
      const call: Call = { ...market.chat(), key: market.key(), openai: "streamed" };
      await market.once(dice, customer, call, dice.between(5, 60));
      await buys(market, dice, customer, { ...call, openai: dice.pick(["whole", "streamed"]) });
    },
  },
  {
    name: "a stream whose model server breaks off",
    weight: 1,
    async play(market, { rich }, dice) {
      const call: Call = { ...market.chat("breaks off"), key: market.key(), openai: "streamed" };
      await buys(market, dice, dice.pick(rich), call);
    },
  },
  {
    name: "a metered call that its quote pays",
    weight: 3,
    async play(market, { payers }, dice) {
      const customer = dice.pick(payers);
      const quoted = await quote(market, dice, customer, chat(market, dice));
      if (quoted) await provesOnce(market, dice, customer, quoted, quoted.price);
    },
  },
];

function chat(market: Market, dice: Dice): Call {
  const forms = [{}, { openai: "whole" }, { openai: "streamed" }] as const;
  return { ...market.chat(), key: market.key(), ...dice.pick(forms) };
}
