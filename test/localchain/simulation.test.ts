import {
  ComputeBudgetProgram,
  Connection,
  Keypair,
  SystemProgram,
  type TransactionInstruction,
} from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { rpc, signed, transfer, usdcOf } from "./paying.ts";

describe("simulateTransaction", () => {
  let local: LocalChain;
  let connection: Connection;
  let payer: Keypair;
  let shop: Keypair;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 0 });
    connection = new Connection(local.url, "processed");
    [payer, shop] = [
      local.controls.createWallet({ microUsd: 100n }),
      local.controls.createWallet({ microUsd: 0n }),
    ];
  });
  afterAll(() => local.close());

  it("returns the outcome and changes nothing", async () => {
    const account = local.controls.usdcAccount(shop.publicKey);
    const { value } = await connection.simulateTransaction(
      signed(local, payer, [transfer(local, payer, shop, 1n)]),
      [payer],
      [account],
    );
    expect(value).toMatchObject({ err: null, unitsConsumed: expect.any(Number) });
    expect(Buffer.from(value.accounts?.[0]?.data[0] ?? "", "base64").readBigUInt64LE(64)).toBe(1n);
    expect(await usdcOf(local, shop)).toBe(0n);
    const failing = await connection.simulateTransaction(
      signed(local, payer, [transfer(local, payer, shop, 101n)]),
    );
    expect(failing.value.err).toEqual({ InstructionError: [0, { Custom: 1 }] });
  });

  it("needs no signature and blockhash if the client says so, but checks them if requested", async () => {
    const old = signed(
      local,
      payer,
      [transfer(local, payer, shop, 1n)],
      Keypair.generate().publicKey.toBase58(),
    );
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
    const unsigned = signed(local, payer, [transfer(local, payer, shop, 1n)]);
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
      const pay = SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports: 1_000_000 });
      const transaction = signed(local, payer, [...extra, pay]);
      const quoted = (await connection.getFeeForMessage(transaction.compileMessage(), "processed")).value;
      const before = await connection.getBalance(payer.publicKey);
      await connection.sendRawTransaction(transaction.serialize());
      expect(before - (await connection.getBalance(payer.publicKey)) - 1_000_000).toBe(quoted);
    },
  );

  it("airdrops like a test cluster", async () => {
    const wallet = Keypair.generate();
    await connection.requestAirdrop(wallet.publicKey, 5_000_000);
    expect(await connection.getBalance(wallet.publicKey)).toBe(5_000_000);
  });

  it("transfers the same amount twice in one slot, settled at once", async () => {
    const wallet = local.controls.createWallet({ lamports: 1_000_000n });
    local.controls.airdrop(wallet.publicKey, 1_000_000n);
    local.controls.airdrop(wallet.publicKey, 1_000_000n);
    expect(await connection.getBalance(wallet.publicKey, "finalized")).toBe(3_000_000);
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
