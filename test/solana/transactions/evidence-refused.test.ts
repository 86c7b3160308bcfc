import { describe, expect, it } from "vitest";
import { MEMO_V2_PROGRAM, TOKEN_PROGRAM } from "../../../src/solana/core/treasury.ts";
import type { RefusalCode } from "../../../src/solana/transactions/refusal.ts";
import { judgeTransaction } from "../../../src/solana/transactions/transaction-evidence.ts";
import * as fixture from "../transaction-fixture.ts";

const { AMOUNT, PAYER, PAYER_TOKENS, QUOTE, RULES, STEP, TREASURY, TX } = fixture;
const { address, balance, batch, memo, moved, signature, transfer, transferChecked } = fixture;
const TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
const MEMO = memo(`svc:${QUOTE}`);
const PAYMENT = transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT);

/** Expects the refusal with the remedy in its text. */
function expectRefusal(code: RefusalCode, changes: Partial<fixture.Draft>): void {
  const verdict = judgeTransaction(TX, fixture.json(changes), RULES);
  expect(verdict).toEqual({ kind: "refused", code, reason: expect.stringMatching(/^.{20,}[;,] .{5,}$/) });
}

describe("a transaction is refused", () => {
  it.each([
    { InstructionError: [1, { Custom: 1 }] },
    "AccountInUse",
    { InsufficientFundsForRent: { account_index: 0 } },
  ])("when it failed: %j, even if its balances say otherwise", (err) =>
    expectRefusal("FAILED_TRANSACTION", { err }),
  );

  it("when it is looked up by its second signature, because a payment has one identity", () => {
    expectRefusal("NOT_THE_FIRST_SIGNATURE", { signatures: [signature(), TX] });
  });

  it("before anything else when it is looked up by its second signature", () => {
    expectRefusal("NOT_THE_FIRST_SIGNATURE", { signatures: [signature(), TX], err: "AccountInUse" });
  });
});

describe("a transaction is refused for its destination", () => {
  it.each([
    ["WRONG_MINT", { mint: address() }],
    ["WRONG_TOKEN_PROGRAM", { programId: TOKEN_2022 }],
    ["WRONG_DESTINATION", { owner: address() }],
  ] as const)("when the treasury account is invalid: %s, before or after", (code, wrong) => {
    const { pre, post } = moved(AMOUNT);
    const spoil = (balances: fixture.Balance[] | null) =>
      balances &&
      balances.map((each) => (each.account === TREASURY.tokenAccount ? { ...each, ...wrong } : each));
    expectRefusal(code, { pre: spoil(pre), post });
    expectRefusal(code, { pre, post: spoil(post) });
  });

  it("when USDC goes to another open token account of the treasury's owner", () => {
    const other = address();
    const to = { owner: TREASURY.owner };
    expectRefusal("WRONG_DESTINATION", {
      instructions: [MEMO, transferChecked(PAYER_TOKENS, other, AMOUNT)],
      pre: [balance(PAYER_TOKENS, "10000", { owner: PAYER }), balance(other, "0", to)],
      post: [balance(PAYER_TOKENS, "0", { owner: PAYER }), balance(other, "10000", to)],
    });
  });

  it("when a look-alike program's transfer names the treasury", () => {
    const lookalike = { ...PAYMENT, program: `Tokenkeg${address().slice(8)}` };
    expectRefusal("NOTHING_RECEIVED", { instructions: [lookalike, MEMO], pre: [], post: [] });
  });

  it("when a look-alike program's transfer leaves the balances unchanged", () => {
    const lookalike = { ...PAYMENT, program: address() };
    expectRefusal("NOTHING_RECEIVED", { instructions: [lookalike, MEMO], ...moved(0n) });
  });

  it("when the treasury account has no balance before: it was opened here", () => {
    const { pre, post } = moved(AMOUNT);
    expectRefusal("TREASURY_ACCOUNT_NOT_OPEN", { pre: pre && pre.slice(0, 1), post });
  });

  it("when the treasury account has no balance after: it was closed here", () => {
    const { pre, post } = moved(AMOUNT);
    const close = {
      program: TOKEN_PROGRAM,
      accounts: [TREASURY.tokenAccount, PAYER, TREASURY.owner],
      data: Buffer.of(9),
    };
    expectRefusal("TREASURY_ACCOUNT_NOT_OPEN", {
      instructions: [MEMO, PAYMENT, close],
      pre,
      post: post && post.slice(0, 1),
    });
  });

  it("when the amount exceeds what JSON can represent exactly", () => {
    const huge = 2n ** 53n;
    const pre = [balance(TREASURY.tokenAccount, "0")];
    const post = [balance(TREASURY.tokenAccount, huge.toString())];
    const instructions = [transfer(PAYER_TOKENS, TREASURY.tokenAccount, huge), MEMO];
    expectRefusal("AMOUNT_OUT_OF_RANGE", { instructions, pre, post });
  });
});

describe("a transaction is refused if its transfers do not explain the treasury's gain", () => {
  it("refuses a payment beside the treasury's transfer to itself", () => {
    const itself = transfer(TREASURY.tokenAccount, TREASURY.tokenAccount, 5_000n, TREASURY.owner);
    expectRefusal("UNEXPLAINED_CHANGE", { instructions: [PAYMENT, itself, MEMO] });
  });

  it("refuses a transfer of more than what arrived", () => {
    const said = transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, 2n ** 64n - 1n);
    expectRefusal("UNEXPLAINED_CHANGE", { instructions: [said, MEMO] });
  });

  it("refuses a truncated or nested Batch", () => {
    const whole = batch(transfer(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT));
    const promisesMore = Buffer.from(whole.data);
    promisesMore.writeUInt8(promisesMore.readUInt8(2) + 1, 2);
    const broken = [
      { ...whole, data: whole.data.subarray(0, -1) },
      { ...whole, data: promisesMore },
      { ...whole, accounts: whole.accounts.slice(0, 1) },
      { ...whole, accounts: whole.accounts.slice(0, 2) },
      batch(whole),
    ];
    for (const each of broken) expectRefusal("UNEXPLAINED_CHANGE", { instructions: [each, MEMO] });
  });

  it("refuses a Batch whose account counts only appear to pay the treasury", () => {
    const other = address();
    const first = transfer(PAYER_TOKENS, other, AMOUNT);
    const second = transfer(other, PAYER_TOKENS, AMOUNT, TREASURY.tokenAccount);
    expectRefusal("UNEXPLAINED_CHANGE", { instructions: [batch(first, second), MEMO] });
  });

  it("refuses a truncated transfer, or one without a destination", () => {
    expectRefusal("UNEXPLAINED_CHANGE", {
      instructions: [{ ...PAYMENT, data: PAYMENT.data.subarray(0, 9) }, MEMO],
    });
    expectRefusal("UNEXPLAINED_CHANGE", {
      instructions: [{ ...PAYMENT, accounts: PAYMENT.accounts.slice(0, 2) }, MEMO],
    });
  });

  it("refuses a transfer written in another program's data", () => {
    const reported = { ...PAYMENT, program: address() };
    expectRefusal("UNEXPLAINED_CHANGE", { instructions: [reported, MEMO] });
  });
});

describe("a transaction is refused for its memo", () => {
  it("refuses a memo written by another program", () => {
    const router = { program: address(), accounts: [], data: Buffer.of(1) };
    expectRefusal("MEMO_MISSING", { instructions: [PAYMENT, router], inner: [MEMO] });
  });

  it("refuses a memo of a program that only resembles Memo", () => {
    expectRefusal("MEMO_MISSING", {
      instructions: [PAYMENT, memo(`svc:${QUOTE}`, `${MEMO_V2_PROGRAM.slice(0, -1)}s`)],
    });
  });

  const foreign: [string, string | Uint8Array][] = [
    ["is empty", ""],
    ["says something else", "thanks for the fish"],
    ["has another prefix", `asg:${QUOTE}`],
    ["has more around ours", ` svc:${QUOTE}`],
    ["ends in a line break", `svc:${QUOTE}\n`],
    ["ends in a zero byte", `svc:${QUOTE}\0`],
    [
      "begins with a byte order mark",
      Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), Buffer.from(`svc:${QUOTE}`)]),
    ],
    ["has a fourth part", `${STEP}:${QUOTE}:1:2`],
    ["has no nonce", `${STEP}:${QUOTE}:`],
    ["names no quote", "svc:qt_"],
    ["is a quote alone", QUOTE],
    ["is not UTF-8", Buffer.concat([Buffer.from(`${STEP}:${QUOTE}:`), Buffer.of(0xc0, 0xaf)])],
    ["is longer than any of ours", `svc:${QUOTE}${"1".repeat(900)}`],
  ];
  it.each(foreign)("refuses a memo that %s", (_what, text) => {
    expectRefusal("MEMO_NOT_OURS", { instructions: [PAYMENT, memo(text)] });
  });
});
