import { describe, expect, it } from "vitest";
import { judgeTransaction } from "../../../src/solana/transactions/transaction-evidence.ts";
import * as fixture from "../transaction-fixture.ts";

const { AMOUNT, PAYER, PAYER_TOKENS, QUOTE, RULES, TREASURY, TX } = fixture;
const { address, balance, batch, memo, moved, signature, transfer, transferChecked } = fixture;
const judge = (changes: Partial<fixture.Draft> = {}) => judgeTransaction(TX, fixture.json(changes), RULES);
const MEMO = memo(`svc:${QUOTE}`);

describe("a transaction pays", () => {
  it("by TransferChecked with a memo: returns amount, memo, payer, slot and time", () => {
    expect(judge()).toEqual({
      kind: "paid",
      amount: AMOUNT,
      memo: `svc:${QUOTE}`,
      payer: PAYER,
      slot: 250_000_001n,
      blockTime: new Date(1_790_000_000_000),
    });
  });

  it("with foreign memos beside ours, even if long or not UTF-8", () => {
    const foreign = [memo("thanks"), memo(Buffer.of(0xff, 0xfe)), memo("x".repeat(1_000))];
    const instructions = [...foreign, MEMO, transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT)];
    expect(judge({ instructions })).toMatchObject({ kind: "paid", memo: `svc:${QUOTE}` });
  });

  it.each([
    ["transfer", transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT)],
    ["Batch", batch(transfer(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT))],
  ])("by a %s of another program", (_what, inner) => {
    const accounts = [PAYER_TOKENS, TREASURY.tokenAccount];
    const instructions = [{ program: address(), accounts, data: Buffer.of(1, 2, 3) }, MEMO];
    expect(judge({ instructions, inner: [inner] })).toMatchObject({ kind: "paid", amount: AMOUNT });
  });

  it("in several transfers: their sum counts, and the largest sender is the payer", () => {
    const [rich, riches] = [address(), address()];
    const pre = [
      balance(PAYER_TOKENS, "3000"),
      balance(riches, "7000", { owner: rich }),
      balance(TREASURY.tokenAccount, "0"),
    ];
    const post = [
      balance(TREASURY.tokenAccount, "10000"),
      balance(riches, "0", { owner: rich }),
      balance(PAYER_TOKENS, "0"),
    ];
    const instructions = [
      transfer(PAYER_TOKENS, TREASURY.tokenAccount, 3_000n),
      transfer(riches, TREASURY.tokenAccount, 7_000n, rich),
      MEMO,
    ];
    expect(judge({ instructions, pre, post })).toMatchObject({ kind: "paid", amount: AMOUNT, payer: rich });
  });

  it("through a delegate: the payer is the owner of the tokens", () => {
    const instructions = [transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT, [address()]), MEMO];
    expect(judge({ instructions })).toMatchObject({ kind: "paid", payer: PAYER });
  });

  it("from a multisig, whose signers follow the authority", () => {
    const instructions = [
      transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT, [PAYER, address(), address()]),
      MEMO,
    ];
    expect(judge({ instructions })).toMatchObject({ kind: "paid", payer: PAYER });
  });

  it("from an account that it closes: the earlier owner is the payer", () => {
    const { pre, post } = moved(AMOUNT);
    const closed = post && post.filter(({ account }) => account !== PAYER_TOKENS);
    expect(judge({ pre, post: closed })).toMatchObject({ kind: "paid", payer: PAYER });
  });

  it("from an account that exists only in this transaction: the payer is unknown", () => {
    const passing = address();
    const instructions = [
      MEMO,
      transfer(PAYER_TOKENS, passing, AMOUNT),
      transfer(passing, TREASURY.tokenAccount, AMOUNT),
    ];
    expect(judge({ instructions })).toMatchObject({ kind: "paid", amount: AMOUNT, payer: undefined });
  });

  it("with a separate fee payer, looked up by the first signature", () => {
    expect(judge({ signatures: [TX, signature()] })).toMatchObject({ kind: "paid" });
  });

  it("as a legacy transaction, also without version and loadedAddresses", () => {
    expect(judge({ version: "legacy" })).toMatchObject({ kind: "paid" });
    const { version: _version, ...old } = fixture.json();
    const { loadedAddresses: _loaded, ...meta } = old.meta;
    expect(judgeTransaction(TX, { ...old, meta }, RULES)).toMatchObject({ kind: "paid" });
  });

  it("as a version 1 transaction, which has a config and no lookup tables", () => {
    const v1 = fixture.json({ version: 1 });
    const message = { ...v1.transaction.message, transactionConfig: { computeUnitLimit: 20_000 } };
    const reported = { ...v1, transaction: { ...v1.transaction, message } };
    expect(judgeTransaction(TX, reported, RULES)).toMatchObject({ kind: "paid", amount: AMOUNT });
  });

  it("into a treasury that holds more than a float can represent", () => {
    const full = 2n ** 64n - 1n;
    const pre = [balance(PAYER_TOKENS, "1"), balance(TREASURY.tokenAccount, (full - 1n).toString())];
    const post = [balance(PAYER_TOKENS, "0"), balance(TREASURY.tokenAccount, full.toString())];
    const instructions = [transfer(PAYER_TOKENS, TREASURY.tokenAccount, 1n), MEMO];
    expect(judge({ instructions, pre, post })).toMatchObject({ kind: "paid", amount: 1n });
  });
});
