import { createTransferCheckedInstruction } from "@solana/spl-token";
import { Connection, PublicKey, sendAndConfirmTransaction, Transaction, TransactionInstruction } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLocalChain, USDC_MINT, type LocalChain } from "../../src/localchain/index.ts";

describe("a USDC payment through web3.js", () => {
  let local: LocalChain;
  let connection: Connection;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 50 });
    connection = new Connection(local.url, "confirmed");
  });
  afterAll(() => local.close());

  it("is confirmed over the WebSocket and reads back with its balances and memo", async () => {
    const payer = local.controls.createWallet({ microUsd: 5_000_000n });
    const shop = local.controls.createWallet({ microUsd: 0n });
    const [from, to] = [payer, shop].map(({ publicKey }) => local.controls.usdcAccount(publicKey));
    if (from === undefined || to === undefined) throw new Error("both wallets have an account");
    const mint = new PublicKey(USDC_MINT);
    const transaction = new Transaction().add(
      createTransferCheckedInstruction(from, mint, to, payer.publicKey, 10_000n, 6),
      new TransactionInstruction({
        programId: new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"),
        keys: [],
        data: Buffer.from("svc:qt_1"),
      }),
    );

    const signature = await sendAndConfirmTransaction(connection, transaction, [payer]);

    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.meta?.err).toBeNull();
    expect(found?.meta?.fee).toBe(5_000);
    const after = found?.meta?.postTokenBalances?.find((balance) => balance.owner === shop.publicKey.toBase58());
    expect(after).toMatchObject({ mint: USDC_MINT, uiTokenAmount: { amount: "10000", decimals: 6 } });
    const [newest] = await connection.getSignaturesForAddress(to, { limit: 1 });
    expect(newest).toMatchObject({ signature, memo: "[8] svc:qt_1", err: null });
  });
});
