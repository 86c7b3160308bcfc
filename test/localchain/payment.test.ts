import { setTimeout as sleep } from "node:timers/promises";
import { Connection, sendAndConfirmTransaction, Transaction } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  MAINNET_GENESIS_HASH,
  startLocalChain,
  USDC_MINT,
  type LocalChain,
} from "../../src/localchain/index.ts";
import { memo, MINT, transfer, usdcOf } from "./paying.ts";

describe("a USDC payment through web3.js", () => {
  let local: LocalChain;
  let connection: Connection;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 40 });
    connection = new Connection(local.url, "confirmed");
  });
  afterAll(async () => {
    // The client closes its WebSocket half a second after its last use; one that loses it before reconnects
    // for ever.
    await sleep(600);
    await local.close();
  });

  it("is confirmed over the WebSocket and reads back with its balances and memo", async () => {
    const payer = local.controls.createWallet({ microUsd: 5_000_000n });
    const shop = local.controls.createWallet({ microUsd: 0n });
    const transaction = new Transaction().add(transfer(local, payer, shop, 10_000n), memo("svc:qt_1"));

    const signature = await sendAndConfirmTransaction(connection, transaction, [payer]);

    expect(local.faults.callCount("getTransaction")).toBe(0);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found).toMatchObject({ version: "legacy", transaction: { signatures: [signature] } });
    expect(found?.meta).toMatchObject({ err: null, fee: 5_000, innerInstructions: [] });
    expect(found?.blockTime).toBeCloseTo(Date.now() / 1000, -1);
    expect(found?.meta?.logMessages).toContain("Program log: svc:qt_1");
    expect(found?.meta?.preBalances[0]).toBe(1_000_000_000);
    expect(found?.meta?.postBalances[0]).toBe(999_995_000);
    const amount = (when: "pre" | "post"): string | undefined =>
      found?.meta?.[`${when}TokenBalances`]?.find(({ owner }) => owner === shop.publicKey.toBase58())
        ?.uiTokenAmount.amount;
    expect([amount("pre"), amount("post")]).toEqual(["0", "10000"]);
    expect(found?.meta?.postTokenBalances?.[0]).toMatchObject({
      mint: USDC_MINT,
      uiTokenAmount: { decimals: 6 },
    });
    expect(await usdcOf(local, payer)).toBe(4_990_000n);
  });

  it("reads back parsed", async () => {
    const payer = local.controls.createWallet({ microUsd: 1_000_000n });
    const shop = local.controls.createWallet({ microUsd: 0n });
    const transaction = new Transaction().add(transfer(local, payer, shop, 250_000n), memo("svc:qt_2"));
    const signature = await sendAndConfirmTransaction(connection, transaction, [payer]);

    const parsed = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 1 });

    const [payment, note] = parsed?.transaction.message.instructions ?? [];
    expect(payment).toMatchObject({
      program: "spl-token",
      parsed: { type: "transferChecked", info: { tokenAmount: { uiAmountString: "0.25" }, mint: USDC_MINT } },
    });
    expect(note).toMatchObject({ program: "spl-memo", parsed: "svc:qt_2" });
    expect(parsed?.transaction.message.accountKeys[0]).toMatchObject({
      pubkey: payer.publicKey,
      signer: true,
      writable: true,
    });
  });

  it("is finalized after 32 slots", async () => {
    const payer = local.controls.createWallet({ microUsd: 1n });
    const shop = local.controls.createWallet({ microUsd: 0n });
    const transaction = new Transaction().add(transfer(local, payer, shop, 1n));
    const landed = local.chain.slots.current;

    const signature = await sendAndConfirmTransaction(connection, transaction, [payer], {
      commitment: "finalized",
    });

    expect(local.chain.slots.current - landed).toBeGreaterThanOrEqual(32);
    const { value } = await connection.getSignatureStatus(signature);
    expect(value).toMatchObject({ confirmationStatus: "finalized", confirmations: null, err: null });
  });

  it("appears as mainnet", async () => {
    expect(await connection.getGenesisHash()).toBe(MAINNET_GENESIS_HASH);
    const mint = await connection.getParsedAccountInfo(MINT);
    expect(mint.value?.data).toMatchObject({
      program: "spl-token",
      parsed: { type: "mint", info: { decimals: 6 } },
    });
  });
});
