import { describe, expect, it } from "vitest";
import { readMovement } from "../../../src/solana/treasury/treasury-movement.ts";
import {
  address,
  AMOUNT,
  json,
  moved,
  QUOTE,
  RULES,
  TREASURY,
  TX,
  type Balance,
} from "../transaction-fixture.ts";

const handedOver = (balances: Balance[] | null) =>
  balances &&
  balances.map((each) => (each.account === TREASURY.tokenAccount ? { ...each, owner: address() } : each));

describe("a payment to the treasury's token account", () => {
  const { pre, post } = moved(AMOUNT);

  it("names its quote while the account belongs to its owner", () => {
    expect(readMovement(TX, json(), RULES)).toMatchObject({
      movement: { change: AMOUNT, memo: `svc:${QUOTE}` },
    });
  });

  it.each([
    ["before", { pre: handedOver(pre), post }],
    ["after", { pre, post: handedOver(post) }],
  ])("credits no account when the owner is another one %s the transaction", (_when, balances) => {
    expect(readMovement(TX, json(balances), RULES)).toMatchObject({
      failed: false,
      movement: { change: AMOUNT, memo: undefined, memos: `svc:${QUOTE}` },
    });
  });
});
