import { describe, expect, it } from "vitest";
import { memo, rpc, signed, transfer, usdcOf, useChain } from "./paying.ts";

describe("the history of the local chain", () => {
  const local = useChain();

  async function pay(amount: bigint, text: string): Promise<string> {
    return local.send(local.payment(amount, memo(text)));
  }

  describe("getSignaturesForAddress", () => {
    it("lists an account's transactions newest first, with their memos", async () => {
      const account = local.controls.usdcAccount(local.shop.publicKey);
      const first = await pay(1n, "svc:a");
      local.chain.advance();
      const second = await pay(2n, "svc:b");
      local.chain.advance();
      const found = await local.connection.getSignaturesForAddress(account);
      expect(found.map(({ signature, memo: note }) => [signature, note])).toMatchObject([
        [second, "[5] svc:b"],
        [first, "[5] svc:a"],
        [expect.any(String), null], // the creation of the account
      ]);
    });

    it("pages with before, until and limit", async () => {
      const account = local.controls.usdcAccount(local.shop.publicKey);
      const all: string[] = [];
      for (const amount of [1n, 2n, 3n, 4n, 5n]) all.unshift(await pay(amount, `svc:${amount}`));
      local.chain.advance();
      const list = async (options: {
        before?: string;
        until?: string;
        limit?: number;
      }): Promise<readonly string[]> =>
        (await local.connection.getSignaturesForAddress(account, options)).map(({ signature }) => signature);
      const [, second, , fourth] = all;
      if (second === undefined || fourth === undefined) throw new Error("five were paid");
      expect(await list({ limit: 2 })).toEqual(all.slice(0, 2));
      expect(await list({ before: second, limit: 2 })).toEqual(all.slice(2, 4));
      expect(await list({ until: fourth })).toEqual(all.slice(0, 3));
      expect(await list({ before: second, until: fourth })).toEqual(all.slice(2, 3));
    });

    it("shows only transactions at the commitment, and none below confirmed", async () => {
      const account = local.controls.usdcAccount(local.shop.publicKey).toBase58();
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
    const status = async (): Promise<unknown> => (await local.connection.getSignatureStatus(signature)).value;
    expect(await status()).toMatchObject({ confirmationStatus: "processed", confirmations: 0 });
    expect(await local.read(signature)).toBeNull();
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
    expect((await local.connection.getSignatureStatus(signature)).value).toBeNull();
    const found = await local.connection.getSignatureStatus(signature, { searchTransactionHistory: true });
    expect(found.value).toMatchObject({ confirmationStatus: "finalized" });
  });

  it("reads an account as of the commitment", async () => {
    await pay(3n, "svc:f");
    await pay(4n, "svc:g");
    expect(await usdcOf(local, local.shop, "processed")).toBe(7n);
    expect(await usdcOf(local, local.shop, "confirmed")).toBe(0n);
    local.chain.advance();
    expect(await usdcOf(local, local.shop, "confirmed")).toBe(7n);
    expect(await usdcOf(local, local.shop, "finalized")).toBe(0n);
    local.chain.advance(31);
    expect(await usdcOf(local, local.shop, "finalized")).toBe(7n);
  });

  it("takes block times from the cluster's clock, which may be off", async () => {
    local.chain.setTimeOffset(-3_600);
    const signature = await pay(1n, "svc:h");
    local.chain.advance();
    local.chain.setTimeOffset(0);
    const found = await local.read(signature);
    expect(found?.blockTime).toBeCloseTo(Date.now() / 1000 - 3_600, -1);
    expect(await local.connection.getBlockTime(found?.slot ?? 0)).toBe(found?.blockTime);
  });
});

describe("a fork", () => {
  const local = useChain();

  it("removes a transaction with its status, record and effects", async () => {
    const account = local.controls.usdcAccount(local.shop.publicKey);
    const signature = await local.send(local.payment(10n));
    local.chain.advance();
    expect(await usdcOf(local, local.shop)).toBe(10n);

    expect(local.chain.drop(signature)).toBe(true);

    expect(await usdcOf(local, local.shop)).toBe(0n);
    expect(await usdcOf(local, local.payer)).toBe(100n);
    expect(await local.connection.getBalance(local.payer.publicKey)).toBe(1_000_000_000);
    expect(
      (await local.connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value,
    ).toBeNull();
    expect(await local.read(signature)).toBeNull();
    const listed = await local.connection.getSignaturesForAddress(account);
    expect(listed.map((each) => each.signature)).not.toContain(signature);
  });

  it("keeps other transactions after the fork", async () => {
    const other = local.controls.createWallet({ microUsd: 100n });
    const lost = await local.send(local.payment(10n));
    const kept = await local.send(signed(local, other, [transfer(local, other, local.shop, 3n)]));
    local.chain.advance();
    expect(await rpc(local, "local_drop", lost)).toBe(true);
    expect(await usdcOf(local, local.shop)).toBe(3n);
    const found = await local.read(kept);
    expect(found?.meta?.preTokenBalances).toContainEqual(
      expect.objectContaining({
        owner: local.shop.publicKey.toBase58(),
        uiTokenAmount: expect.objectContaining({ amount: "0" }),
      }),
    );
  });

  it("lets the same transaction land again", async () => {
    const payment = local.payment(10n);
    const signature = await local.send(payment);
    local.chain.drop(signature);
    expect(await local.send(payment)).toBe(signature);
    expect(await usdcOf(local, local.shop)).toBe(10n);
  });

  it("reverts the creation of an account", async () => {
    const newcomer = local.controls.createWallet();
    const account = local.controls.usdcAccount(newcomer.publicKey);
    local.controls.mintUsdc(newcomer.publicKey, 5n);
    const [creation] = await local.connection.getSignaturesForAddress(account);
    local.chain.drop(creation?.signature ?? "");
    expect(await local.connection.getAccountInfo(account)).toBeNull();
    local.controls.mintUsdc(newcomer.publicKey, 6n);
    expect(await usdcOf(local, newcomer)).toBe(6n);
  });

  it("does not happen for an unknown transaction", () => {
    expect(local.chain.drop("1111")).toBe(false);
  });
});
