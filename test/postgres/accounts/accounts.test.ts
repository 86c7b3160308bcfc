import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterEach, describe, expect, it } from "vitest";
import type { TierChange } from "../../../src/app/accounts/accounts.ts";
import { configFileSchema } from "../../../src/config/config-file.ts";
import { MAX_MICRO_USD } from "../../../src/domain/core/money.ts";
import { lazyOperatorStores } from "../../../src/postgres/accounts/lazy-operator-stores.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { withOperatorActs } from "../../support/operator-acts.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { openCuttingProxy } from "../database/cutting-proxy.ts";
import { openStarted } from "../open-postgres.ts";
import { nextMillisecond } from "../fixture.ts";

const database = await openDatabase();
const one = withOperatorActs(closing(await openStarted(database.url)));
afterEach(async () => {
  expect((await one.audit()).filter(({ violations }) => violations > 0n)).toEqual([]);
});

const wallet = () => base58.encode(randomBytes(32));

describe("accounts", () => {
  it("creates one account per wallet for concurrent requests", async () => {
    const same = wallet();
    const accounts = await Promise.all(Array.from({ length: 8 }, () => one.accounts.create(same)));
    expect(new Set(accounts.map(({ accountId }) => accountId)).size).toBe(1);
    expect(accounts[0]).toMatchObject({
      wallet: same,
      balance: 0n,
      tier: { ratePerMinute: 60, burst: 10 },
      accountTier: { ratePerMinute: 600, burst: 100 },
      operator: false,
    });
    expect(accounts[0]?.createdAt).toBeInstanceOf(Date);
    await expect(one.accounts.create("0x1234")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  });

  it("adjusts a balance once per idempotency key, up and down, never below zero", async () => {
    const { accountId } = await one.accounts.create(wallet());
    const adjust = (amount: bigint, idempotencyKey: string) =>
      one.accounts.adjust({ accountId, amount, reason: "why", idempotencyKey });
    const up = await Promise.all(Array.from({ length: 6 }, () => adjust(5_000_000n, "up")));
    expect(up.map(({ balance }) => balance)).toEqual(Array.from({ length: 6 }, () => 5_000_000n));
    expect(await adjust(-2_000_000n, "down")).toMatchObject({ balance: 3_000_000n });
    await expect(adjust(-3_000_001n, "too much")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    await expect(adjust(7n, "up")).rejects.toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
    await expect(adjust(0n, "nothing")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    expect(await one.ledger.balance(accountId)).toBe(3_000_000n);
  });

  it("adjusts, blocks and reads an account although a response is lost", async () => {
    const { accountId } = await one.accounts.create(wallet());
    const proxy = await openCuttingProxy(database.url);
    const { accounts, close } = lazyOperatorStores({
      url: proxy.url,
      clock: systemClock,
      random: systemRandom,
      keySecrets: { current: () => ({ version: 1, secret: randomBytes(32) }) },
      readAccount: (id) => one.accounts.get(id),
    });
    const cut = <Result>(work: () => Promise<Result>): Promise<Result> => {
      proxy.cutNextAnswer();
      return work();
    };
    try {
      await accounts.setOperator(accountId, false);
      const adjustment = { accountId, amount: 7n, reason: "why", idempotencyKey: "lost" };
      const actor = { accountId: undefined, name: "test" };
      const act = { actor, name: "account.adjust", target: accountId, details: {} } as const;
      await one.operatorActions.record({ ...act, idempotencyKey: "7 lost" });
      expect(await cut(() => accounts.adjust(adjustment))).toMatchObject({ balance: 7n });
      expect(await cut(() => accounts.setBlocked(accountId, { blocked: true, reason: "why" }))).toMatchObject(
        {
          blockedReason: "why",
        },
      );
      expect(proxy.cuts).toBe(2);
    } finally {
      await close();
      await proxy.close();
    }
  });

  it("rejects adjustments and balances beyond the exact integers of JSON", async () => {
    const { accountId } = await one.accounts.create(wallet());
    const adjust = (amount: bigint, idempotencyKey: string) =>
      one.accounts.adjust({ accountId, amount, reason: "why", idempotencyKey });
    const refused = expect.objectContaining({
      code: "INVALID_REQUEST",
      message: expect.stringMatching(/^amount_usdc_microusd: /),
    });
    for (const amount of [2n ** 200n, 2n ** 63n, 2n ** 63n - 1n, MAX_MICRO_USD + 1n]) {
      for (const signed of [amount, -amount])
        await expect(adjust(signed, `${signed}`), `${signed}`).rejects.toEqual(refused);
    }
    expect(await adjust(MAX_MICRO_USD - 1n, "much")).toMatchObject({ balance: MAX_MICRO_USD - 1n });
    for (const amount of [2n, MAX_MICRO_USD])
      await expect(adjust(amount, "too much")).rejects.toEqual(refused);
    expect(await adjust(1n, "most")).toMatchObject({ balance: MAX_MICRO_USD });
    expect(await adjust(MAX_MICRO_USD - 1n, "much")).toMatchObject({ balance: MAX_MICRO_USD });
    await expect(adjust(0n, "nothing")).rejects.toEqual(refused);
    expect(await adjust(-MAX_MICRO_USD, "all")).toMatchObject({ balance: 0n });
    await expect(adjust(-1n, "more than all")).rejects.toEqual(refused);
  });

  it("changes tier and operator role", async () => {
    const { accountId } = await one.accounts.create(wallet());
    expect(await one.accounts.setTier(accountId, { ratePerMinute: 6000, burst: 100 })).toMatchObject({
      tier: { ratePerMinute: 6000, burst: 100 },
    });
    expect(await one.accounts.setOperator(accountId, true)).toMatchObject({
      operator: true,
      tier: { ratePerMinute: 6000, burst: 100 },
    });
    const most = { ratePerMinute: 60_000_000, burst: 10_000_000 };
    expect(await one.accounts.setTier(accountId, most)).toMatchObject({ tier: most });
    for (const wrong of [
      { ratePerMinute: -1 },
      { burst: -1 },
      { ratePerMinute: 60_000_001 },
      { burst: 10_000_001 },
    ]) {
      await expect(one.accounts.setTier(accountId, { ...most, ...wrong })).rejects.toMatchObject({
        code: "INVALID_REQUEST",
      });
    }
  });

  it("gives an account ten times the key rate unless it has its own", async () => {
    const { accountId } = await one.accounts.create(wallet());
    const set = async (change: TierChange) => (await one.accounts.setTier(accountId, change)).accountTier;
    expect(await set({ ratePerMinute: 120 })).toEqual({ ratePerMinute: 1200, burst: 100 });
    expect(await set({ accountRatePerMinute: 90 })).toEqual({ ratePerMinute: 90, burst: 100 });
    expect(await set({ accountBurst: 7, burst: 20 })).toEqual({ ratePerMinute: 90, burst: 7 });
    expect(await set({ accountRatePerMinute: 0, accountBurst: 0 })).toEqual({
      ratePerMinute: 1200,
      burst: 200,
    });
    expect(await set({ ratePerMinute: 60_000_000 })).toEqual({ ratePerMinute: 60_000_000, burst: 200 });
    const { items } = await one.accounts.list({ query: accountId, limit: 1, cursor: undefined });
    expect(items[0]).toMatchObject({ accountTier: { ratePerMinute: 60_000_000, burst: 200 } });
    for (const wrong of [{}, { accountRatePerMinute: 60_000_001 }, { accountBurst: -1 }])
      await expect(set(wrong)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  });

  it("gives an account the limits of its tier unless it has its own", async () => {
    const { accountId, tierName } = await one.accounts.create(wallet());
    expect(tierName).toBe("default");
    await apply({ gold: { rate_per_minute: 600, burst: 50, account_rate_per_minute: 900 } });
    const gold = { ratePerMinute: 600, burst: 50 };
    expect(await one.accounts.setTier(accountId, { tier: "gold" })).toMatchObject({
      tierName: "gold",
      tier: gold,
      accountTier: { ratePerMinute: 900, burst: 500 },
    });
    expect(await one.accounts.setTier(accountId, { burst: 7, accountRatePerMinute: 5 })).toMatchObject({
      tier: { ratePerMinute: 600, burst: 7 },
      accountTier: { ratePerMinute: 5, burst: 70 },
    });
    expect(await one.accounts.setTier(accountId, { burst: 0, accountRatePerMinute: 0 })).toMatchObject({
      tier: gold,
      accountTier: { ratePerMinute: 900, burst: 500 },
    });
    await expect(one.accounts.setTier(accountId, { tier: "silver" })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      message: "tier: silver is not a tier of the configuration in force",
    });
    // No plan was made: the foreign key refuses it.
    await expect(apply({})).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    expect(await one.accounts.get(accountId)).toMatchObject({ tier: gold });
    await one.accounts.setTier(accountId, { tier: "default" });
    await apply({ default: { rate_per_minute: 30, burst: 3 } });
    expect(await one.accounts.get(accountId)).toMatchObject({ tier: { ratePerMinute: 30, burst: 3 } });
    await apply({});
    expect(await one.accounts.get(accountId)).toMatchObject({ tier: { ratePerMinute: 60, burst: 10 } });
  });

  it("rejects an unknown account with NOT_FOUND", async () => {
    for (const accountId of [`acct_${"0".repeat(32)}`, "nonsense"]) {
      for (const ask of [
        () => one.accounts.get(accountId),
        () => one.accounts.setOperator(accountId, true),
        () => one.accounts.setTier(accountId, { ratePerMinute: 1, burst: 1 }),
        () => one.accounts.adjust({ accountId, amount: 1n, reason: "", idempotencyKey: "x" }),
      ]) {
        await expect(ask()).rejects.toMatchObject({ code: "NOT_FOUND" });
      }
    }
  });

  it("blocks an account with a reason and unblocks it", async () => {
    const { accountId, blockedReason } = await one.accounts.create(wallet());
    expect(blockedReason).toBeUndefined();
    expect(await one.accounts.setBlocked(accountId, { blocked: true, reason: "chargeback\0" })).toMatchObject(
      {
        blockedReason: "chargeback",
      },
    );
    expect(await one.accounts.get(accountId)).toMatchObject({ blockedReason: "chargeback" });
    expect(await one.accounts.setBlocked(accountId, { blocked: false, reason: "paid" })).toMatchObject({
      blockedReason: undefined,
    });
    await expect(
      one.accounts.setBlocked("acct_nobody", { blocked: true, reason: "why" }),
    ).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});

/** Puts a configuration with these tiers in force. */
function apply(tiers: object) {
  const document = JSON.stringify({ tiers });
  return one.configVersions.apply({
    document,
    source: "apply",
    actor: "test",
    note: undefined,
    expected: undefined,
    tiers: configFileSchema.parse({ tiers }).tiers,
  });
}

describe("account search", () => {
  const ids = async (query: string, limit = 100) =>
    (await one.accounts.list({ query, limit, cursor: undefined })).items.map(({ accountId }) => accountId);

  it("finds accounts by prefix of account, wallet, key or key prefix, newest first", async () => {
    const first = await one.accounts.create(wallet());
    await nextMillisecond();
    const second = await one.accounts.create(wallet());
    const made = await one.apiKeys.create({ accountId: first.accountId, name: "", scopes: [] });
    await one.accounts.setBlocked(first.accountId, { blocked: true, reason: "late" });
    const [found] = (await one.accounts.list({ query: first.accountId, limit: 1, cursor: undefined })).items;
    expect(found).toEqual(await one.accounts.get(first.accountId));
    expect(await ids(second.wallet)).toEqual([second.accountId]);
    expect(await ids(second.wallet.slice(0, 8))).toEqual([second.accountId]);
    expect(await ids(made.key.keyId)).toEqual([first.accountId]);
    expect(await ids(made.key.prefix)).toEqual([first.accountId]);
    expect(await ids(made.secret)).toEqual([first.accountId]);
    expect(await ids("sk-agent-")).toContain(first.accountId);
    expect(await ids("key_")).toContain(first.accountId);
    expect((await ids("acct_")).slice(0, 2)).toEqual([second.accountId, first.accountId]);
    expect((await ids("")).slice(0, 2)).toEqual([second.accountId, first.accountId]);
  });

  it("treats no character of a search as a pattern", async () => {
    const { accountId, wallet: address } = await one.accounts.create(wallet());
    expect(await ids(address)).toEqual([accountId]);
    const odd = "% _ \\ ' ';-- acct_% acct__ key_% sk-agent-% sk-agent-' acct_\0 \0 \ud800 acct é";
    for (const query of odd.split(" ")) expect(await ids(query), query).toEqual([]);
    expect(await ids(`${address.slice(0, 5)}%`)).toEqual([]);
    expect(await ids(`${address.slice(0, 5)}_${address.slice(6)}`)).toEqual([]);
  });

  it("pages through accounts without gap or repeat while others are created", async () => {
    const all = await ids("");
    expect(all.length).toBeGreaterThan(4);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await one.accounts.list({ query: "", limit: 2, cursor });
      seen.push(...page.items.map(({ accountId }) => accountId));
      cursor = page.nextCursor;
      if (seen.length === 2) await one.accounts.create(wallet());
    } while (cursor !== undefined);
    expect(seen).toEqual(all);
    const foreign = one.accounts.list({ query: "", limit: 2, cursor: "cnVuczow" });
    await expect(foreign).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringMatching(/^cursor: /),
    });
  });
});
