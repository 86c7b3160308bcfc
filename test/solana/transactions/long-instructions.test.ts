import { describe, expect, it } from "vitest";
import { TOKEN_PROGRAM } from "../../../src/solana/core/treasury.ts";
import { judgeTransaction } from "../../../src/solana/transactions/transaction-evidence.ts";
import { readMovement } from "../../../src/solana/treasury/treasury-movement.ts";
import {
  AMOUNT,
  json,
  PAYER,
  PAYER_TOKENS,
  QUOTE,
  RULES,
  TREASURY,
  transfer,
  TX,
} from "../transaction-fixture.ts";

/** Base58 of 10 KiB, the limit of a cross-program call. The Token program ignores trailing data. */
const LONGEST_DATA = "2".repeat(13_982);

/** A payment in which a program also calls the Token program with the maximum of data, `times` times. */
function payment(calls: number, inner = [transfer(PAYER_TOKENS, TREASURY.tokenAccount, 0n)]) {
  const reported = json({ inner });
  const keys = reported.transaction.message.accountKeys;
  const long = {
    programIdIndex: keys.indexOf(TOKEN_PROGRAM),
    accounts: [0, 1],
    data: LONGEST_DATA,
    stackHeight: null,
  };
  const [group] = reported.meta.innerInstructions ?? [];
  group?.instructions.push(...Array.from({ length: calls }, () => long));
  return reported;
}

describe("Token instructions longer than any transfer", () => {
  it("do not stop the reader: otherwise one sender could stop the watch", () => {
    expect(readMovement(TX, payment(1), RULES)?.movement).toMatchObject({
      change: AMOUNT,
      memo: `svc:${QUOTE}`,
      payer: PAYER,
    });
    expect(judgeTransaction(TX, payment(1), RULES)).toMatchObject({
      kind: "paid",
      amount: AMOUNT,
      payer: PAYER,
    });
  });

  it("explain no gain", () => {
    const reported = payment(1, [transfer(PAYER_TOKENS, TREASURY.tokenAccount, 1n)]);
    expect(judgeTransaction(TX, reported, RULES)).toMatchObject({ kind: "refused" });
    expect(readMovement(TX, reported, RULES)?.movement).toMatchObject({ change: AMOUNT });
  });
});
