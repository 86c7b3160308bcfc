import {
  ComputeBudgetProgram,
  Keypair,
  SendTransactionError,
  SystemProgram,
  type Transaction,
  type TransactionInstruction,
} from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { rpc, signed, transfer, usdcOf, useChain } from "./paying.ts";

describe("a transaction that cannot succeed", () => {
  const local = useChain();

  const send = (transaction: Transaction, skipPreflight = false): Promise<string> =>
    local.connection.sendRawTransaction(transaction.serialize({ verifySignatures: false }), {
      skipPreflight,
    });
  const failure = async (transaction: Transaction): Promise<unknown> =>
    rpc(local, "sendTransaction", transaction.serialize({ verifySignatures: false }).toString("base64"), {
      encoding: "base64",
    }).catch((error: unknown) => error);

  it("is rejected by preflight with the program's error and logs", async () => {
    const tooMuch = local.payment(101n);
    expect(await failure(tooMuch)).toMatchObject({
      code: -32002,
      message: "Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1",
      data: { err: { InstructionError: [0, { Custom: 1 }] } },
    });
    const error: unknown = await send(tooMuch).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SendTransactionError);
    expect(error).toHaveProperty(
      "logs",
      expect.arrayContaining([expect.stringMatching(/failed: custom program error: 0x1/)]),
    );
  });

  it("lands without preflight with `err`, moves no money and pays its fee", async () => {
    const tooMuch = local.payment(101n);
    const signature = await send(tooMuch, true);
    local.chain.advance();
    const found = await local.read(signature);
    expect(found?.meta).toMatchObject({ err: { InstructionError: [0, { Custom: 1 }] }, fee: 5_000 });
    expect(found?.meta?.postBalances[0]).toBe(999_995_000);
    expect(await usdcOf(local, local.payer)).toBe(100n);
    const { value } = await local.connection.getSignatureStatus(signature);
    expect(value).toMatchObject({
      confirmationStatus: "confirmed",
      err: { InstructionError: [0, { Custom: 1 }] },
    });
  });

  it("is rejected once its blockhash is 151 blocks old, and accepted one block earlier", async () => {
    const { blockhash } = await local.connection.getLatestBlockhash("processed");
    const [early, late] = [local.payment(1n), local.payment(2n)];
    expect([early.recentBlockhash, late.recentBlockhash]).toEqual([blockhash, blockhash]);
    local.chain.advance(150);
    await send(early);
    local.chain.advance(1);
    expect(await failure(late)).toMatchObject({
      code: -32002,
      message: "Transaction simulation failed: Blockhash not found",
      data: { err: "BlockhashNotFound" },
    });
    expect((await local.connection.isBlockhashValid(blockhash)).value).toBe(false);
    await send(late, true);
    expect(await usdcOf(local, local.shop)).toBe(1n);
  });

  it("is rejected a second time as already processed", async () => {
    const once = local.payment(1n);
    await send(once);
    expect(await failure(once)).toMatchObject({ code: -32002, data: { err: "AlreadyProcessed" } });
    await send(once, true);
    expect(await usdcOf(local, local.shop)).toBe(1n);
  });

  it("is rejected with a wrong or missing signature", async () => {
    const forged = local.payment(1n);
    const signature = forged.signatures[0]?.signature;
    signature?.writeUInt8(signature.readUInt8(0) ^ 1, 0);
    expect(await failure(forged)).toMatchObject({
      code: -32003,
      message: "Transaction signature verification failure",
    });
    signature?.fill(0);
    expect(await failure(forged)).toMatchObject({ code: -32003 });
    await send(forged, true);
    expect(await usdcOf(local, local.shop)).toBe(0n);
  });

  it("leaves no trace when the fee payer cannot pay", async () => {
    const poor = Keypair.generate();
    local.controls.mintUsdc(poor.publicKey, 100n);
    const unpaid = signed(local, poor, [transfer(local, poor, local.shop, 1n)]);
    expect(await failure(unpaid)).toMatchObject({ code: -32002, data: { err: "AccountNotFound" } });
    const signature = await send(unpaid, true);
    local.chain.advance(40);
    expect(await local.read(signature)).toBeNull();
    expect(
      (await local.connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value,
    ).toBeNull();
  });
});

describe("simulateTransaction", () => {
  const local = useChain({ commitment: "processed" });

  it("returns the outcome and changes nothing", async () => {
    const account = local.controls.usdcAccount(local.shop.publicKey);
    const { value } = await local.connection.simulateTransaction(local.payment(1n), [local.payer], [account]);
    expect(value).toMatchObject({ err: null, unitsConsumed: expect.any(Number) });
    expect(Buffer.from(value.accounts?.[0]?.data[0] ?? "", "base64").readBigUInt64LE(64)).toBe(1n);
    expect(await usdcOf(local, local.shop)).toBe(0n);
    const failing = await local.connection.simulateTransaction(local.payment(101n));
    expect(failing.value.err).toEqual({ InstructionError: [0, { Custom: 1 }] });
  });

  it("needs no signature and blockhash if the client says so, but checks them if requested", async () => {
    const unknown = Keypair.generate().publicKey.toBase58();
    const old = signed(local, local.payer, [transfer(local, local.payer, local.shop, 1n)], unknown);
    old.signatures[0]?.signature?.fill(0);
    const wire = old.serialize({ verifySignatures: false }).toString("base64");
    const simulate = (options: object): Promise<unknown> =>
      rpc(local, "simulateTransaction", wire, { encoding: "base64", ...options });
    expect(await simulate({})).toMatchObject({ value: { err: "BlockhashNotFound" } });
    expect(await simulate({ replaceRecentBlockhash: true })).toMatchObject({
      value: { err: null, replacementBlockhash: { lastValidBlockHeight: expect.any(Number) } },
    });
    await expect(simulate({ replaceRecentBlockhash: true, sigVerify: true })).rejects.toMatchObject({
      code: -32602,
    });
    const unsigned = local.payment(1n);
    unsigned.signatures[0]?.signature?.fill(0);
    const text = unsigned.serialize({ verifySignatures: false }).toString("base64");
    await expect(
      rpc(local, "simulateTransaction", text, { encoding: "base64", sigVerify: true }),
    ).rejects.toMatchObject({ code: -32003 });
  });

  it.each([
    ["a plain transfer", []],
    [
      "a priority fee with a limit",
      [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 40_001 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 10_001 }),
      ],
    ],
  ] satisfies [string, TransactionInstruction[]][])(
    "returns the fee that is charged: %s",
    async (_what, extra) => {
      const to = Keypair.generate().publicKey;
      const pay = SystemProgram.transfer({
        fromPubkey: local.payer.publicKey,
        toPubkey: to,
        lamports: 1_000_000,
      });
      const transaction = signed(local, local.payer, [...extra, pay]);
      const quoted = (await local.connection.getFeeForMessage(transaction.compileMessage(), "processed"))
        .value;
      const before = await local.connection.getBalance(local.payer.publicKey);
      await local.send(transaction);
      expect(before - (await local.connection.getBalance(local.payer.publicKey)) - 1_000_000).toBe(quoted);
    },
  );

  it("airdrops like a test cluster", async () => {
    const wallet = Keypair.generate();
    await local.connection.requestAirdrop(wallet.publicKey, 5_000_000);
    expect(await local.connection.getBalance(wallet.publicKey)).toBe(5_000_000);
  });

  it("transfers the same amount twice in one slot, settled at once", async () => {
    const wallet = local.controls.createWallet({ lamports: 1_000_000n });
    local.controls.airdrop(wallet.publicKey, 1_000_000n);
    local.controls.airdrop(wallet.publicKey, 1_000_000n);
    expect(await local.connection.getBalance(wallet.publicKey, "finalized")).toBe(3_000_000);
  });

  it("creates wallets for other processes", async () => {
    const wallet = (await rpc(local, "local_createWallet", { micro_usd: 9 })) as {
      address: string;
      secret_key: number[];
    };
    const keypair = Keypair.fromSecretKey(Uint8Array.from(wallet.secret_key));
    expect(keypair.publicKey.toBase58()).toBe(wallet.address);
    expect(await rpc(local, "local_mintUsdc", wallet.address, 1)).toBe(
      local.controls.usdcAccount(keypair.publicKey).toBase58(),
    );
    expect(await usdcOf(local, keypair, "finalized")).toBe(10n);
  });
});
