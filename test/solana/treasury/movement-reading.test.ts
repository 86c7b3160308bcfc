import { describe, expect, it } from "vitest";
import { malformation } from "../../../src/solana/rpc/rpc-failure.ts";
import { SolanaRpc } from "../../../src/solana/rpc/rpc.ts";
import { TransactionReader } from "../../../src/solana/transactions/transaction-reader.ts";
import { SolanaTreasury } from "../../../src/solana/treasury/treasury-chain.ts";
import { readMovement } from "../../../src/solana/treasury/treasury-movement.ts";
import { patient } from "../network.ts";
import { ScriptedNode } from "../scripted-node.ts";
import * as fixture from "../transaction-fixture.ts";

const { AMOUNT, PAYER, PAYER_TOKENS, QUOTE, RULES, TREASURY, TX } = fixture;
const { address, balance, memo, moved, signature, transferChecked } = fixture;
const read = (changes: Partial<fixture.Draft> = {}) => readMovement(TX, fixture.json(changes), RULES);
const MEMO = memo(`svc:${QUOTE}`);
const log = { info: () => {}, warn: () => {}, error: () => {} };

describe("a movement", () => {
  it("is read from a plain payment", () => {
    expect(read()).toEqual({
      failed: false,
      movement: {
        txSignature: TX,
        slot: 250_000_001n,
        blockTime: new Date(1_790_000_000_000),
        change: AMOUNT,
        balanceAfter: 7_000_000n + AMOUNT,
        memo: `svc:${QUOTE}`,
        memos: `svc:${QUOTE}`,
        payer: PAYER,
      },
    });
  });

  it("is read from the balances, not from uiAmount, instructions or logs", () => {
    expect(read(moved(0n))?.movement).toMatchObject({ change: 0n, payer: undefined });
    expect(read(moved(-5n))?.movement).toMatchObject({ change: -5n, payer: undefined });
    expect(read(moved(7n))?.movement).toMatchObject({ change: 7n });
  });

  it("is exact for amounts beyond a float", () => {
    const pre = [balance(TREASURY.tokenAccount, "18446744073709551614")];
    const post = [balance(TREASURY.tokenAccount, "18446744073709551615")];
    expect(read({ pre, post })?.movement).toMatchObject({ change: 1n, balanceAfter: 2n ** 64n - 1n });
  });

  it("is read without inner instructions: only the payer is unknown", () => {
    const router = {
      program: address(),
      accounts: [PAYER_TOKENS, TREASURY.tokenAccount],
      data: Buffer.of(1),
    };
    const { movement } = read({ instructions: [router, MEMO], inner: null }) ?? {};
    expect(movement).toMatchObject({ change: AMOUNT, memo: `svc:${QUOTE}`, payer: undefined });
  });

  it.each(["\u001b]0;gone\u0007", "a\0b", "x".repeat(1_000_000)])(
    "has no payer when the payer's address is invalid (%#)",
    (owner) => {
      const { pre, post } = moved(AMOUNT);
      const odd = pre && pre.map((each) => (each.account === PAYER_TOKENS ? { ...each, owner } : each));
      expect(read({ pre: odd, post })?.movement).toMatchObject({ change: AMOUNT, payer: undefined });
    },
  );

  it("is read when the treasury comes from a lookup table", () => {
    const lookedUp = { writable: [TREASURY.tokenAccount], readonly: [] };
    expect(read({ lookedUp })?.movement).toMatchObject({ change: AMOUNT, memo: `svc:${QUOTE}` });
  });

  it("has no memo when the memo is nested, not UTF-8 or too long", () => {
    const pay = transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT);
    const none = { memo: undefined, memos: undefined, change: AMOUNT };
    expect(read({ instructions: [pay], inner: [MEMO] })?.movement).toMatchObject(none);
    expect(read({ instructions: [pay, memo(Buffer.of(0xff, 0xfe))] })?.movement).toMatchObject(none);
    expect(read({ instructions: [pay, memo("x".repeat(1_000))] })?.movement).toMatchObject(none);
  });

  it("credits no quote when the account was handed over to another owner", () => {
    const { pre, post } = moved(AMOUNT);
    const handOver = (balances: fixture.Balance[] | null) =>
      balances &&
      balances.map((each) => (each.account === TREASURY.tokenAccount ? { ...each, owner: address() } : each));
    for (const changes of [
      { pre: handOver(pre), post: handOver(post) },
      { pre, post: handOver(post) },
      { pre: handOver(pre), post },
    ])
      expect(read(changes)?.movement).toMatchObject({
        change: AMOUNT,
        memo: undefined,
        memos: `svc:${QUOTE}`,
      });
  });

  it("is none when the transaction failed", () => {
    expect(read({ err: "AccountInUse", ...moved(0n) })).toMatchObject({
      failed: true,
      movement: { change: 0n },
    });
  });
});

describe("no movement", () => {
  it("is read by a second signature, before its time is known, or when the account is not named", () => {
    expect(read({ blockTime: null })).toBeUndefined();
    expect(read({ signatures: [signature(), TX] })).toBeUndefined();
    const elsewhere = {
      instructions: [MEMO],
      pre: [balance(PAYER_TOKENS, "1")],
      post: [balance(PAYER_TOKENS, "1")],
    };
    expect(read(elsewhere)).toBeUndefined();
  });

  it.each<[string, () => unknown]>([
    ["about another transaction", () => fixture.json({ signatures: [signature()] })],
    ["without meta", () => ({ ...fixture.json(), meta: null })],
    ["without balances before", () => fixture.json({ pre: null })],
    ["without balances after", () => fixture.json({ post: null })],
    ["with a failed transaction that moved something", () => fixture.json({ err: "AccountInUse" })],
    ["with another mint in the account", () => spoiled({ mint: address() })],
    ["with another token program's account", () => spoiled({ programId: address() })],
    ["without the account's owner", () => spoiled({ owner: undefined })],
    [
      "with two balances of the account",
      () => fixture.json({ post: [...(moved(1n).post ?? []), ...spare()] }),
    ],
  ])("is read from a response %s", (_what, result) => {
    let thrown: unknown;
    try {
      readMovement(TX, result(), RULES);
    } catch (error) {
      thrown = error;
    }
    expect(malformation(thrown)).toMatch(/^.+$/);
  });
});

it("requests the json encoding and version 1 for payments, and reads version 1 transactions", async () => {
  const node = await ScriptedNode.start(() => fixture.json({ version: 1 }));
  const rpc = new SolanaRpc([node.url], { clock: Date, log, attemptMs: 1_000 });
  const query = { txSignature: TX, commitment: "confirmed", signal: patient() } as const;
  const found = await new TransactionReader(rpc, RULES).read(query);
  expect(found?.evidence).toMatchObject({ kind: "paid", amount: AMOUNT });
  const options = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };
  expect(node.calls).toMatchObject([{ method: "getTransaction", params: [TX, options] }]);
  node.close();
});

describe("SolanaTreasury", () => {
  it("queries every endpoint for a movement and blames none for missing data", async () => {
    const silent = await ScriptedNode.start(() => null);
    const knowing = await ScriptedNode.start(({ params }) =>
      params[0] === TX
        ? fixture.json()
        : { ...fixture.json({ signatures: [String(params[0])], instructions: [], pre: [], post: [] }) },
    );
    const rpc = new SolanaRpc([silent.url, knowing.url], { clock: Date, log, attemptMs: 1_000 });
    const treasury = new SolanaTreasury({ rpc, ...RULES, finalizedAbove: 50_000_000n, log });
    for (let call = 0; call < 5; call++)
      await expect(treasury.movement(signature(), patient())).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await treasury.movement(TX, patient())).toMatchObject({ change: AMOUNT });
    const options = { encoding: "json", commitment: "finalized", maxSupportedTransactionVersion: 1 };
    expect(silent.calls.at(-1)).toMatchObject({ method: "getTransaction", params: [TX, options] });
    expect(treasury.endpoints).toBe(2);
    expect(treasury.tokenAccount).toBe(TREASURY.tokenAccount);
    for (const node of [silent, knowing]) node.close();
  });
});

function spoiled(rest: Partial<fixture.Balance>): unknown {
  const { pre, post } = moved(AMOUNT);
  const spoil = (balances: fixture.Balance[] | null) =>
    balances &&
    balances.map((each) => (each.account === TREASURY.tokenAccount ? { ...each, ...rest } : each));
  return fixture.json({ pre, post: spoil(post) });
}

function spare(): fixture.Balance[] {
  return [balance(TREASURY.tokenAccount, "1")];
}
