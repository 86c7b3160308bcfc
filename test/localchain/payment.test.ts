import { sendAndConfirmTransaction, Transaction } from "@solana/web3.js";
import { afterAll, describe, expect, it } from "vitest";
import { MAINNET_GENESIS_HASH, USDC_MINT } from "../../src/localchain/index.ts";
import { until } from "../support/until.ts";
import { memo, MINT, transfer, usdcOf, useChain } from "./paying.ts";

describe("a USDC payment through web3.js", () => {
  const local = useChain({ microUsd: 5_000_000n, slotMs: 40 });

  // The client closes its WebSocket half a second after its last use; one that loses it before reconnects for
  // ever. Runs before the chain closes.
  afterAll(
    async () => void (await until(() => Reflect.get(local.connection, "_rpcWebSocketConnected") === false)),
  );

  it("is confirmed over the WebSocket and reads back with its balances and memo", async () => {
    const transaction = new Transaction().add(
      transfer(local, local.payer, local.shop, 10_000n),
      memo("svc:qt_1"),
    );

    const signature = await sendAndConfirmTransaction(local.connection, transaction, [local.payer]);

    expect(local.faults.callCount("getTransaction")).toBe(0);
    const found = await local.read(signature);
    expect(found).toMatchObject({ version: "legacy", transaction: { signatures: [signature] } });
    expect(found?.meta).toMatchObject({ err: null, fee: 5_000, innerInstructions: [] });
    expect(found?.blockTime).toBeCloseTo(Date.now() / 1000, -1);
    expect(found?.meta?.logMessages).toContain("Program log: svc:qt_1");
    expect(found?.meta?.preBalances[0]).toBe(1_000_000_000);
    expect(found?.meta?.postBalances[0]).toBe(999_995_000);
    const amount = (when: "pre" | "post"): string | undefined =>
      found?.meta?.[`${when}TokenBalances`]?.find(({ owner }) => owner === local.shop.publicKey.toBase58())
        ?.uiTokenAmount.amount;
    expect([amount("pre"), amount("post")]).toEqual(["0", "10000"]);
    expect(found?.meta?.postTokenBalances?.[0]).toMatchObject({
      mint: USDC_MINT,
      uiTokenAmount: { decimals: 6 },
    });
    expect(await usdcOf(local, local.payer)).toBe(4_990_000n);
  });

  it("reads back parsed", async () => {
    const transaction = new Transaction().add(
      transfer(local, local.payer, local.shop, 250_000n),
      memo("svc:qt_2"),
    );
    const signature = await sendAndConfirmTransaction(local.connection, transaction, [local.payer]);

    const parsed = await local.connection.getParsedTransaction(signature, {
      maxSupportedTransactionVersion: 1,
    });

    const [payment, note] = parsed?.transaction.message.instructions ?? [];
    expect(payment).toMatchObject({
      program: "spl-token",
      parsed: { type: "transferChecked", info: { tokenAmount: { uiAmountString: "0.25" }, mint: USDC_MINT } },
    });
    expect(note).toMatchObject({ program: "spl-memo", parsed: "svc:qt_2" });
    expect(parsed?.transaction.message.accountKeys[0]).toMatchObject({
      pubkey: local.payer.publicKey,
      signer: true,
      writable: true,
    });
  });

  it("is finalized after 32 slots", async () => {
    const transaction = new Transaction().add(transfer(local, local.payer, local.shop, 1n));
    const landed = local.chain.slots.current;

    const signature = await sendAndConfirmTransaction(local.connection, transaction, [local.payer], {
      commitment: "finalized",
    });

    expect(local.chain.slots.current - landed).toBeGreaterThanOrEqual(32);
    const { value } = await local.connection.getSignatureStatus(signature);
    expect(value).toMatchObject({ confirmationStatus: "finalized", confirmations: null, err: null });
  });

  it("appears as mainnet", async () => {
    expect(await local.connection.getGenesisHash()).toBe(MAINNET_GENESIS_HASH);
    const mint = await local.connection.getParsedAccountInfo(MINT);
    expect(mint.value?.data).toMatchObject({
      program: "spl-token",
      parsed: { type: "mint", info: { decimals: 6 } },
    });
  });
});
