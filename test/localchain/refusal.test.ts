import { Connection, Keypair, SendTransactionError, type Transaction } from "@solana/web3.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { rpc, signed, transfer, usdcOf } from "./paying.ts";

describe("a transaction that cannot succeed", () => {
  let local: LocalChain;
  let connection: Connection;
  let payer: Keypair;
  let shop: Keypair;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 0 });
    connection = new Connection(local.url, "confirmed");
  });
  beforeEach(() => {
    payer = local.controls.createWallet({ microUsd: 100n });
    shop = local.controls.createWallet({ microUsd: 0n });
  });
  afterAll(() => local.close());

  const send = (transaction: Transaction, skipPreflight = false): Promise<string> =>
    connection.sendRawTransaction(transaction.serialize({ verifySignatures: false }), { skipPreflight });
  const failure = async (transaction: Transaction): Promise<unknown> =>
    rpc(local, "sendTransaction", transaction.serialize({ verifySignatures: false }).toString("base64"), {
      encoding: "base64",
    }).catch((error: unknown) => error);

  it("is rejected by preflight with the program's error and logs", async () => {
    const tooMuch = signed(local, payer, [transfer(local, payer, shop, 101n)]);
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
    const tooMuch = signed(local, payer, [transfer(local, payer, shop, 101n)]);
    const signature = await send(tooMuch, true);
    local.chain.advance();
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.meta).toMatchObject({ err: { InstructionError: [0, { Custom: 1 }] }, fee: 5_000 });
    expect(found?.meta?.postBalances[0]).toBe(999_995_000);
    expect(await usdcOf(local, payer)).toBe(100n);
    const { value } = await connection.getSignatureStatus(signature);
    expect(value).toMatchObject({
      confirmationStatus: "confirmed",
      err: { InstructionError: [0, { Custom: 1 }] },
    });
  });

  it("is rejected once its blockhash is 151 blocks old, and accepted one block earlier", async () => {
    const { blockhash } = await connection.getLatestBlockhash("processed");
    const early = signed(local, payer, [transfer(local, payer, shop, 1n)], blockhash);
    const late = signed(local, payer, [transfer(local, payer, shop, 2n)], blockhash);
    local.chain.advance(150);
    await send(early);
    local.chain.advance(1);
    expect(await failure(late)).toMatchObject({
      code: -32002,
      message: "Transaction simulation failed: Blockhash not found",
      data: { err: "BlockhashNotFound" },
    });
    expect((await connection.isBlockhashValid(blockhash)).value).toBe(false);
    await send(late, true);
    expect(await usdcOf(local, shop)).toBe(1n);
  });

  it("is rejected a second time as already processed", async () => {
    const once = signed(local, payer, [transfer(local, payer, shop, 1n)]);
    await send(once);
    expect(await failure(once)).toMatchObject({ code: -32002, data: { err: "AlreadyProcessed" } });
    await send(once, true);
    expect(await usdcOf(local, shop)).toBe(1n);
  });

  it("is rejected with a wrong or missing signature", async () => {
    const forged = signed(local, payer, [transfer(local, payer, shop, 1n)]);
    const signature = forged.signatures[0]?.signature;
    signature?.writeUInt8(signature.readUInt8(0) ^ 1, 0);
    expect(await failure(forged)).toMatchObject({
      code: -32003,
      message: "Transaction signature verification failure",
    });
    signature?.fill(0);
    expect(await failure(forged)).toMatchObject({ code: -32003 });
    await send(forged, true);
    expect(await usdcOf(local, shop)).toBe(0n);
  });

  it("leaves no trace when the fee payer cannot pay", async () => {
    const poor = Keypair.generate();
    local.controls.mintUsdc(poor.publicKey, 100n);
    const unpaid = signed(local, poor, [transfer(local, poor, shop, 1n)]);
    expect(await failure(unpaid)).toMatchObject({ code: -32002, data: { err: "AccountNotFound" } });
    const signature = await send(unpaid, true);
    local.chain.advance(40);
    expect(await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 })).toBeNull();
    expect(
      (await connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value,
    ).toBeNull();
  });
});
