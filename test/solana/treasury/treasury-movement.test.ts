import {
  createAssociatedTokenAccountInstruction,
  createCloseAccountInstruction,
  createTransferInstruction,
} from "@solana/spl-token";
import { type Keypair, PublicKey, TransactionInstruction } from "@solana/web3.js";
import { beforeAll, describe, expect, it } from "vitest";
import type { Movement } from "../../../src/app/treasury/treasury-ledger.ts";
import { parseSignature } from "../../../src/domain/core/base58.ts";
import { MEMO_V2_PROGRAM, USDC_MINT } from "../../../src/solana/core/treasury.ts";
import type { Fault } from "../../../src/localchain/index.ts";
import { patient, useNetwork } from "../network.ts";
import { signature } from "../transaction-fixture.ts";

const net = useNetwork();
let source: PublicKey;
let treasury: PublicKey;
beforeAll(() => {
  source = net.local.controls.usdcAccount(net.payer.publicKey);
  treasury = net.local.controls.usdcAccount(net.treasuryOwner.publicKey);
});

const AMOUNT = 10_000n;

const memo = (text: string | Uint8Array = net.memo()) =>
  new TransactionInstruction({
    programId: new PublicKey(MEMO_V2_PROGRAM),
    keys: [],
    data: Buffer.from(text),
  });
const transfer = (amount = AMOUNT) =>
  createTransferInstruction(source, treasury, net.payer.publicKey, amount);
const payerAddress = () => net.payer.publicKey.toBase58();

/** The movement of a finalized transaction. */
async function moved(
  instructions: TransactionInstruction[],
  signers: Keypair[] = [net.payer],
): Promise<Movement> {
  const txSignature = await net.confirm(instructions, { signers });
  net.local.chain.advance(32);
  return net.watch().movement(txSignature, patient());
}

describe("a treasury movement", () => {
  it("has amount, balance, memo, payer, slot and time of the payment", async () => {
    const before = await balance();
    const text = net.memo();
    const slot = BigInt(net.local.chain.slots.current);
    const { blockTime, txSignature, ...rest } = await moved(net.payment(AMOUNT, text));
    expect(blockTime).toBeInstanceOf(Date);
    expect(parseSignature(txSignature)).toHaveLength(64);
    expect(rest).toEqual({
      slot,
      change: AMOUNT,
      balanceAfter: before + AMOUNT,
      memo: text,
      memos: text,
      payer: payerAddress(),
    });
    expect(await balance()).toBe(before + AMOUNT);
  });

  it("names no quote when it has two memos in our format, and shows both", async () => {
    const [one, other] = [net.memo(), net.memo()];
    const reported = await moved([memo(one), memo(other), transfer()]);
    expect(reported).toMatchObject({ change: AMOUNT, memo: undefined, memos: `${one} | ${other}` });
  });

  it("names our memo when a foreign one stands beside it", async () => {
    const ours = net.memo();
    const reported = await moved([memo("for lunch"), memo(ours), transfer()]);
    expect(reported).toMatchObject({ change: AMOUNT, memo: ours, memos: `for lunch | ${ours}` });
  });

  it("shows memos harmlessly that would break a page or a database", async () => {
    const hostile = "a\0b\u001b[31mc\nd\u202ee";
    const reported = await moved([
      memo(hostile),
      memo("x".repeat(252)),
      memo("\u{1f4b8}".repeat(3)),
      transfer(),
    ]);
    expect(reported.memo).toBeUndefined();
    expect(reported.memos).toHaveLength(256);
    expect(reported.memos).toMatch(/^a\u{fffd}b\u{fffd}\[31mc\u{fffd}d\u{fffd}e \| x+$/u);
    const cut = await moved([memo("y".repeat(255)), memo("z"), transfer()]);
    expect(cut.memos).toBe(`${"y".repeat(255)} `);
    const half = await moved([memo("y".repeat(252)), memo("\u{1f4b8}"), transfer()]);
    expect(half.memos).toBe(`${"y".repeat(252)} | \u{fffd}`);
  });

  it("counts minting although no transfer explains it", async () => {
    net.local.controls.mintUsdc(net.treasuryOwner.publicKey, AMOUNT);
    const { entries } = await net
      .watch()
      .history({ fromSlot: 0n, fromTime: new Date(0), firstEndpoint: 0, signal: patient() });
    const reported = await net.watch().movement(entries.at(-1)?.txSignature ?? "", patient());
    expect(reported).toMatchObject({ change: AMOUNT, memo: undefined, payer: undefined });
  });

  it("covers opening and closing the account", async () => {
    const owner = net.local.controls.createWallet();
    const account = net.local.controls.usdcAccount(owner.publicKey);
    const fund = createTransferInstruction(source, account, net.payer.publicKey, 5n);
    const mint = new PublicKey(USDC_MINT);
    const open = createAssociatedTokenAccountInstruction(net.payer.publicKey, account, owner.publicKey, mint);
    const opened = await net.confirm([open, fund]);
    const back = createTransferInstruction(account, source, owner.publicKey, 5n);
    const close = createCloseAccountInstruction(account, owner.publicKey, owner.publicKey);
    const closed = await net.confirm([back, close], { signers: [owner] });
    net.local.chain.advance(32);
    const watch = net.watch(net.open({ treasuryOwner: owner.publicKey.toBase58() }));
    expect(await watch.movement(opened, patient())).toMatchObject({ change: 5n, balanceAfter: 5n });
    expect(await watch.movement(closed, patient())).toMatchObject({ change: -5n, balanceAfter: 0n });
    await expect(watch.balance(patient())).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});

describe("the treasury's account on a running chain", () => {
  const everything = { fromSlot: 0n, fromTime: new Date(0), firstEndpoint: 0 };

  it("has a history of everything finalized since its opening, including failures", async () => {
    const settled = await net.settle(AMOUNT);
    const failed = await net.confirm([transfer(10n ** 15n)]);
    net.local.chain.advance(32);
    const fresh = await net.pay(1n);
    const watch = net.watch();
    const { entries, before } = await watch.history({ ...everything, signal: patient() });
    expect(entries.slice(-2)).toMatchObject([
      { txSignature: settled, failed: false, blockTime: expect.any(Date) },
      { txSignature: failed, failed: true },
    ]);
    expect(before).toBeUndefined();
    const [opening] = entries;
    expect(await watch.movement(opening?.txSignature ?? "", patient())).toMatchObject({ change: 3_000_000n });
    await expect(watch.movement(fresh, patient())).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const { balanceAfter } = await watch.movement(failed, patient());
    expect(await watch.balance(patient())).toBe(balanceAfter);
  });

  it("holds the sum of its movements", async () => {
    net.local.chain.advance(32);
    const watch = net.watch();
    let sum = 0n;
    const { entries } = await watch.history({ ...everything, signal: patient() });
    for (const { txSignature } of entries) {
      const { change, balanceAfter } = await watch.movement(txSignature, patient());
      sum += change;
      expect(balanceAfter).toBe(sum);
    }
    expect(await watch.balance(patient())).toBe(sum);
  });

  it("is read from the other endpoint when one fails, lags or knows nothing", async () => {
    const txSignature = await net.settle(AMOUNT);
    const expected = await balance();
    const faults: Fault[] = [
      { kind: "http", status: 500 },
      { kind: "rpc_error", code: -32602, message: "Invalid param" },
      { kind: "rpc_error", code: -32015, message: "version" },
      { kind: "garbage" },
      { kind: "null" },
    ];
    for (const fault of faults) {
      net.fail(net.first, "*", fault);
      expect(await net.watch().movement(txSignature, patient())).toMatchObject({ change: AMOUNT });
      const { entries } = await net.watch().history({ ...everything, signal: patient() });
      expect(entries.at(-1)?.txSignature).toBe(txSignature);
      expect(await balance()).toBe(expected);
      net.heal();
    }
    net.fail(net.first, "getTransaction", { kind: "stale", slots: 10 });
    expect(await net.watch().movement(txSignature, patient())).toMatchObject({ change: AMOUNT });
    expect(net.counts(net.second)).toEqual({ getTransaction: 1 });
  });

  it("is not read for a caller that disconnected", async () => {
    const gone = new Error("gone");
    const signal = AbortSignal.abort(gone);
    const watch = net.watch();
    await expect(watch.history({ ...everything, signal })).rejects.toBe(gone);
    await expect(watch.movement(signature(), signal)).rejects.toBe(gone);
    await expect(watch.balance(signal)).rejects.toBe(gone);
  });
});

function balance(): Promise<bigint> {
  return net.watch().balance(patient());
}
