import {
  address,
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Instruction,
  type KeyPairSigner,
} from "@solana/kit";
import { beforeEach, describe, expect, it } from "vitest";
import { USDC_MINT } from "../../src/localchain/index.ts";
import { memo, rpc, transfer, usdcOf, useChain } from "./paying.ts";

describe("a USDC payment through kit", () => {
  const local = useChain({ slotMs: 40 });
  let signer: KeyPairSigner;

  beforeEach(async () => {
    signer = await createKeyPairSignerFromBytes(local.payer.secretKey);
  });

  function instructions(): readonly Instruction[] {
    const both = [transfer(local, local.payer, local.shop, 12n), memo("svc:qt_kit")];
    return both.map(({ programId, keys, data }) => ({
      programAddress: address(programId.toBase58()),
      accounts: keys.map((key) => ({
        address: address(key.pubkey.toBase58()),
        role: (key.isSigner ? 2 : 0) + (key.isWritable ? 1 : 0),
      })),
      data: new Uint8Array(data),
    }));
  }

  it("is sent and confirmed over its subscriptions", async () => {
    const kitRpc = createSolanaRpc(local.url);
    const rpcSubscriptions = createSolanaRpcSubscriptions(local.wsUrl);
    const { value: latest } = await kitRpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (m) => setTransactionMessageFeePayerSigner(signer, m),
      (m) => setTransactionMessageLifetimeUsingBlockhash(latest, m),
      (m) => appendTransactionMessageInstructions(instructions(), m),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    assertIsTransactionWithBlockhashLifetime(transaction);

    await sendAndConfirmTransactionFactory({ rpc: kitRpc, rpcSubscriptions })(transaction, {
      commitment: "confirmed",
    });

    const signature = getSignatureFromTransaction(transaction);
    const found = await kitRpc
      .getTransaction(signature, {
        commitment: "confirmed",
        encoding: "json",
        maxSupportedTransactionVersion: 0,
      })
      .send();
    expect(found?.meta?.err).toBeNull();
    expect(found?.meta?.fee).toBe(5_000n);
    expect(await usdcOf(local, local.shop)).toBe(12n);
    const account = await kitRpc.getAccountInfo(address(USDC_MINT), { encoding: "base64" }).send();
    expect(account.value?.data[1]).toBe("base64");
    const raw = await rpc(local, "getAccountInfo", USDC_MINT, { encoding: "base64" });
    expect(raw).toHaveProperty("value.space", 82);
  });

  it("may be a v1 transaction, which older readers cannot read", async () => {
    const kitRpc = createSolanaRpc(local.url);
    const { value: latest } = await kitRpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version: 1 }),
      (m) => setTransactionMessageFeePayerSigner(signer, m),
      (m) => setTransactionMessageLifetimeUsingBlockhash(latest, m),
      (m) => appendTransactionMessageInstructions(instructions(), m),
      (m) => ({
        ...m,
        config: {
          computeUnitLimit: 60_000,
          loadedAccountsDataSizeLimit: 1_000_000,
          priorityFeeLamports: 77n,
        },
      }),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    const wire = getBase64EncodedWireTransaction(transaction);

    const signature = await rpc(local, "sendTransaction", wire, { encoding: "base64" });
    local.chain.advance();

    await expect(
      rpc(local, "getTransaction", signature, { commitment: "confirmed", maxSupportedTransactionVersion: 0 }),
    ).rejects.toMatchObject({ code: -32015 });
    const found = await rpc(local, "getTransaction", signature, {
      commitment: "confirmed",
      maxSupportedTransactionVersion: 1,
    });
    expect(found).toMatchObject({
      version: 1,
      meta: { err: null, fee: 5_077 },
      transaction: { message: { transactionConfig: { computeUnitLimit: 60_000, priorityFee: 77 } } },
    });
    expect(await usdcOf(local, local.shop)).toBe(12n);
  });
});
