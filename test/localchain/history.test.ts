import { Connection, type Keypair } from "@solana/web3.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { memo, rpc, signed, transfer, usdcOf } from "./paying.ts";

describe("the history of the local chain", () => {
  let local: LocalChain;
  let connection: Connection;
  let payer: Keypair;
  let shop: Keypair;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 0 });
    connection = new Connection(local.url, "confirmed");
  });
  beforeEach(() => {
    payer = local.controls.createWallet({ microUsd: 1_000n });
    shop = local.controls.createWallet({ microUsd: 0n });
  });
  afterAll(() => local.close());

  async function pay(amount: bigint, text: string): Promise<string> {
    const transaction = signed(local, payer, [transfer(local, payer, shop, amount), memo(text)]);
    return connection.sendRawTransaction(transaction.serialize());
  }

  describe("getSignaturesForAddress", () => {
    it("lists an account's transactions newest first, with their memos", async () => {
      const account = local.controls.usdcAccount(shop.publicKey);
      const first = await pay(1n, "svc:a");
      local.chain.advance();
      const second = await pay(2n, "svc:b");
      local.chain.advance();
      const found = await connection.getSignaturesForAddress(account);
      expect(found.map(({ signature, memo: note }) => [signature, note])).toMatchObject([
        [second, "[5] svc:b"],
        [first, "[5] svc:a"],
        [expect.any(String), null], // the creation of the account
      ]);
    });

    it("pages with before, until and limit", async () => {
      const account = local.controls.usdcAccount(shop.publicKey);
      const all: string[] = [];
      for (const amount of [1n, 2n, 3n, 4n, 5n]) all.unshift(await pay(amount, `svc:${amount}`));
      local.chain.advance();
      const list = async (options: {
        before?: string;
        until?: string;
        limit?: number;
      }): Promise<readonly string[]> =>
        (await connection.getSignaturesForAddress(account, options)).map(({ signature }) => signature);
      const [, second, , fourth] = all;
      if (second === undefined || fourth === undefined) throw new Error("five were paid");
      expect(await list({ limit: 2 })).toEqual(all.slice(0, 2));
      expect(await list({ before: second, limit: 2 })).toEqual(all.slice(2, 4));
      expect(await list({ until: fourth })).toEqual(all.slice(0, 3));
      expect(await list({ before: second, until: fourth })).toEqual(all.slice(2, 3));
    });

    it("shows only transactions at the commitment, and none below confirmed", async () => {
      const account = local.controls.usdcAccount(shop.publicKey).toBase58();
      const signature = await pay(1n, "svc:c");
      const signatures = async (commitment: string): Promise<unknown[]> => {
        const found = (await rpc(local, "getSignaturesForAddress", account, { commitment })) as {
          signature: string;
        }[];
        return found.map((each) => each.signature);
      };
      expect(await signatures("confirmed")).not.toContain(signature);
      local.chain.advance();
      expect(await signatures("confirmed")).toContain(signature);
      expect(await signatures("finalized")).not.toContain(signature);
      local.chain.advance(31);
      expect(await signatures("finalized")).toContain(signature);
      await expect(signatures("processed")).rejects.toMatchObject({ code: -32602 });
    });
  });

  it("moves a transaction from processed over confirmed to finalized", async () => {
    const signature = await pay(1n, "svc:d");
    const status = async (): Promise<unknown> => (await connection.getSignatureStatus(signature)).value;
    expect(await status()).toMatchObject({ confirmationStatus: "processed", confirmations: 0 });
    expect(await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 })).toBeNull();
    local.chain.advance();
    expect(await status()).toMatchObject({ confirmationStatus: "confirmed", confirmations: 1 });
    local.chain.advance(30);
    expect(await status()).toMatchObject({ confirmationStatus: "confirmed", confirmations: 31 });
    local.chain.advance();
    expect(await status()).toMatchObject({ confirmationStatus: "finalized", confirmations: null });
  });

  it("finds an old status only with searchTransactionHistory", async () => {
    const signature = await pay(1n, "svc:e");
    local.chain.advance(301);
    expect((await connection.getSignatureStatus(signature)).value).toBeNull();
    const found = await connection.getSignatureStatus(signature, { searchTransactionHistory: true });
    expect(found.value).toMatchObject({ confirmationStatus: "finalized" });
  });

  it("reads an account as of the commitment", async () => {
    await pay(3n, "svc:f");
    await pay(4n, "svc:g");
    expect(await usdcOf(local, shop, "processed")).toBe(7n);
    expect(await usdcOf(local, shop, "confirmed")).toBe(0n);
    local.chain.advance();
    expect(await usdcOf(local, shop, "confirmed")).toBe(7n);
    expect(await usdcOf(local, shop, "finalized")).toBe(0n);
    local.chain.advance(31);
    expect(await usdcOf(local, shop, "finalized")).toBe(7n);
  });

  it("takes block times from the cluster's clock, which may be off", async () => {
    local.chain.setTimeOffset(-3_600);
    const signature = await pay(1n, "svc:h");
    local.chain.advance();
    local.chain.setTimeOffset(0);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.blockTime).toBeCloseTo(Date.now() / 1000 - 3_600, -1);
    expect(await connection.getBlockTime(found?.slot ?? 0)).toBe(found?.blockTime);
  });
});
