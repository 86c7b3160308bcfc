import { Connection, type Keypair } from "@solana/web3.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { rpc, signed, transfer, usdcOf } from "./paying.ts";

describe("a fork", () => {
  let local: LocalChain;
  let connection: Connection;
  let alice: Keypair;
  let bob: Keypair;
  let shop: Keypair;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 0 });
    connection = new Connection(local.url, "confirmed");
  });
  beforeEach(() => {
    [alice, bob] = [
      local.controls.createWallet({ microUsd: 100n }),
      local.controls.createWallet({ microUsd: 100n }),
    ];
    shop = local.controls.createWallet({ microUsd: 0n });
  });
  afterAll(() => local.close());

  it("removes a transaction with its status, record and effects", async () => {
    const account = local.controls.usdcAccount(shop.publicKey);
    const signature = await connection.sendRawTransaction(
      signed(local, alice, [transfer(local, alice, shop, 10n)]).serialize(),
    );
    local.chain.advance();
    expect(await usdcOf(local, shop)).toBe(10n);

    expect(local.chain.drop(signature)).toBe(true);

    expect(await usdcOf(local, shop)).toBe(0n);
    expect(await usdcOf(local, alice)).toBe(100n);
    expect(await connection.getBalance(alice.publicKey)).toBe(1_000_000_000);
    expect(
      (await connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value,
    ).toBeNull();
    expect(await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 })).toBeNull();
    const listed = await connection.getSignaturesForAddress(account);
    expect(listed.map((each) => each.signature)).not.toContain(signature);
  });

  it("keeps other transactions after the fork", async () => {
    const lost = await connection.sendRawTransaction(
      signed(local, alice, [transfer(local, alice, shop, 10n)]).serialize(),
    );
    const kept = await connection.sendRawTransaction(
      signed(local, bob, [transfer(local, bob, shop, 3n)]).serialize(),
    );
    local.chain.advance();
    expect(await rpc(local, "local_drop", lost)).toBe(true);
    expect(await usdcOf(local, shop)).toBe(3n);
    const found = await connection.getTransaction(kept, { maxSupportedTransactionVersion: 1 });
    expect(found?.meta?.preTokenBalances).toContainEqual(
      expect.objectContaining({
        owner: shop.publicKey.toBase58(),
        uiTokenAmount: expect.objectContaining({ amount: "0" }),
      }),
    );
  });

  it("lets the same transaction land again", async () => {
    const wire = signed(local, alice, [transfer(local, alice, shop, 10n)]).serialize();
    const signature = await connection.sendRawTransaction(wire);
    local.chain.drop(signature);
    expect(await connection.sendRawTransaction(wire)).toBe(signature);
    expect(await usdcOf(local, shop)).toBe(10n);
  });

  it("reverts the creation of an account", async () => {
    const newcomer = local.controls.createWallet();
    const account = local.controls.usdcAccount(newcomer.publicKey);
    local.controls.mintUsdc(newcomer.publicKey, 5n);
    const [creation] = await connection.getSignaturesForAddress(account);
    local.chain.drop(creation?.signature ?? "");
    expect(await connection.getAccountInfo(account)).toBeNull();
    local.controls.mintUsdc(newcomer.publicKey, 6n);
    expect(await usdcOf(local, newcomer)).toBe(6n);
  });

  it("does not happen for an unknown transaction", () => {
    expect(local.chain.drop("1111")).toBe(false);
  });
});
