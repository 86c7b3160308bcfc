import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ApiKey, type KeyGroup, MAX_ACTIVE_KEYS } from "../../../src/app/accounts/api-keys.ts";
import { type Ledger } from "../../../src/app/calls/ledger.ts";
import { type KeyLimits, NO_BUDGET, NO_LIMITS } from "../../../src/domain/accounts/budget.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { DEFAULT_SCOPES } from "../../../src/domain/accounts/scope.ts";
import { PostgresAuthenticator } from "../../../src/postgres/accounts/authenticator.ts";
import { KeyUses } from "../../../src/postgres/accounts/key-uses.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { query } from "../../support/database-server.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { callOf, completed, PRICE, silent, nextMillisecond } from "../fixture.ts";
import { openKeySecrets, openStarted } from "../open-postgres.ts";

const DAY_MS = 86_400_000;

const database = await openDatabase();
const [one, two] = [
  closing(await openStarted(database.url)),
  closing(await openStarted(database.servingUrl)),
];
const pool = closing(openPool(database.url, { max: 2, applicationName: "test" }));

const TIGHT: KeyLimits = {
  expiresAt: new Date(Date.now() + 30 * DAY_MS),
  perCall: 5_000n,
  perDay: 2n * PRICE,
  perMonth: 20n * PRICE,
  inAll: undefined,
  warnPercent: 90,
  tools: new Set(["echo", "vram_estimate"]),
};

const amount = () => fc.bigInt({ min: 1n, max: 9_007_199_254_740_991n });
const BUDGET = {
  perDay: amount(),
  perMonth: amount(),
  inAll: amount(),
  warnPercent: fc.integer({ min: 1, max: 100 }),
};
const NO_CHANGE = { name: undefined, group: undefined };

async function newAccount(): Promise<string> {
  return (await one.accounts.create(base58.encode(randomBytes(32)))).accountId;
}

async function newKey(limits?: KeyLimits, accountId?: string) {
  const wanted = {
    accountId: accountId ?? (await newAccount()),
    name: "test",
    scopes: DEFAULT_SCOPES,
    limits,
  };
  return one.apiKeys.create(wanted);
}

const works = async (secret: string) => (await two.authenticator.authenticate(secret)) !== undefined;
const stopsWorking = (secret: string) =>
  expect.poll(() => works(secret), { timeout: 15_000, interval: 20 }).toBe(false);
const refused = (problem: RegExp) => ({ code: "INVALID_REQUEST", message: expect.stringMatching(problem) });

describe("a limited key", () => {
  it("authenticates a caller with its limits", async () => {
    const { key, secret } = await newKey(TIGHT);
    expect(key.limits).toEqual(TIGHT);
    const { expiresAt, perCall, tools } = TIGHT;
    expect(await two.authenticator.authenticate(secret)).toMatchObject({
      limits: { expiresAt, perCall, tools },
      budgeted: true,
    });
    expect((await one.apiKeys.list(key.accountId)).map(({ limits }) => limits)).toEqual([TIGHT]);
  });

  it("has no budget without a daily limit, and no limits when none are set", async () => {
    const capped = await newKey({ ...NO_LIMITS, perCall: 1n });
    expect(await one.authenticator.authenticate(capped.secret)).toMatchObject({
      limits: { perCall: 1n, tools: undefined },
      budgeted: false,
    });
    const { key, secret } = await newKey(NO_LIMITS);
    expect(key.limits).toBeUndefined();
    expect(await one.authenticator.authenticate(secret)).toMatchObject({
      limits: undefined,
      budgeted: false,
    });
  });

  it("expires, also when cached", async () => {
    const clock = { at: Date.now(), now: () => clock.at };
    const notifications = new Notifications({ url: database.url, log: silent });
    const authenticator = new PostgresAuthenticator({
      pool,
      clock,
      notifications,
      secrets: await openKeySecrets(pool),
      keyUses: { record: () => {} },
    });
    notifications.start();
    try {
      await expect.poll(() => notifications.live).toBe(true);
      const { secret } = await newKey({ ...NO_LIMITS, expiresAt: new Date(clock.at + 1_000) });
      clock.at += 999;
      expect(await authenticator.authenticate(secret)).toBeDefined();
      expect(await authenticator.authenticate(secret)).toBeDefined();
      clock.at += 1;
      expect(await authenticator.authenticate(secret)).toBeUndefined();
    } finally {
      await notifications.stop();
    }
  });
});

describe("accounts and their keys", () => {
  it("reports a blocked account for cached keys until it is unblocked", async () => {
    const { key, secret } = await newKey();
    expect(await works(secret)).toBe(true);
    const reason = () =>
      expect.poll(async () => (await two.authenticator.authenticate(secret))?.blockedReason, {
        timeout: 15_000,
        interval: 20,
      });
    await one.accounts.setBlocked(key.accountId, { blocked: true, reason: "chargebacks" });
    await reason().toBe("chargebacks");
    await one.accounts.setBlocked(key.accountId, { blocked: false, reason: "paid" });
    await reason().toBeUndefined();
  });

  it(`allows at most ${MAX_ACTIVE_KEYS} active keys under concurrency; inactive keys do not count`, async () => {
    const accountId = await newAccount();
    await query(
      database.url,
      `insert into api_key (id, account_id, sha256, prefix, name, scopes, revoked_at, expires_at)
       select gen_random_uuid(), '${uuidOf("acct", accountId)}', sha256(uuid_send(gen_random_uuid())), '',
         '', '{}',
              case when n = 1 then now() end, case when n = 2 then now() end
                from generate_series(1, ${MAX_ACTIVE_KEYS - 2}) n`,
    );
    const made = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) =>
        (n % 2 === 0 ? one : two).apiKeys.create({ accountId, name: "", scopes: [] }),
      ),
    );
    const problems = made.filter((result) => result.status === "rejected");
    expect(problems).toHaveLength(6);
    for (const { reason } of problems)
      expect(reason).toMatchObject(refused(/has 100 keys that work.*revoke one/));
    // A replacement needs the slot of its predecessor.
    const keys = await one.apiKeys.list(accountId);
    const active = keys.find(({ revokedAt, limits }) => !revokedAt && !limits);
    const rotation = { keyId: active!.keyId, accountId };
    await expect(one.apiKeys.rotate({ ...rotation, overlapSeconds: 60 })).rejects.toMatchObject(
      refused(/has 100 keys/),
    );
    const { oldKey } = await one.apiKeys.rotate({ ...rotation, overlapSeconds: 0 });
    expect(oldKey.revokedAt).toBeInstanceOf(Date);
  });
});

describe("an account that creates and revokes keys in a loop", () => {
  it("creates at most a thousand keys a day; lists return active and the newest inactive keys", async () => {
    const accountId = await newAccount();
    const made = (from: number, to: number, when: string) =>
      query(
        database.url,
        `insert into api_key (id, account_id, sha256, prefix, name, scopes, created_at, revoked_at)
         select lpad(to_hex(n), 32, '0')::uuid, '${uuidOf("acct", accountId)}', sha256(int4send(n)), '', n,
           '{}', ${when},
                case when n > ${from} then now() end from generate_series(${from}, ${to}) n`,
      );
    await made(1, 2_000, "now() - interval '2 days'");
    for (const keys of [await one.apiKeys.list(accountId), await one.apiKeys.listWithUsage(accountId)]) {
      expect(keys.map(({ name }) => Number(name))).toEqual([
        ...Array.from({ length: 500 }, (_, n) => 2_000 - n),
        1,
      ]);
    }
    const { key } = await one.apiKeys.create({ accountId, name: "", scopes: [] });
    await made(3_001, 3_999, "now() - interval '23 hours'");
    const refusal = refused(/created 1000 keys within a day/);
    await expect(one.apiKeys.create({ accountId, name: "", scopes: [] })).rejects.toMatchObject(refusal);
    await expect(
      one.apiKeys.rotate({ keyId: key.keyId, accountId, overlapSeconds: 0 }),
    ).rejects.toMatchObject(refusal);
    expect((await one.apiKeys.revoke(key.keyId, accountId)).revokedAt).toBeInstanceOf(Date);
  });
});

describe("key rotation", () => {
  it("keeps the old key until the overlap ends; the new one has its limits and shares its daily budget", async () => {
    const old = await newKey(TIGHT);
    expect(await works(old.secret)).toBe(true);
    const rotated = await two.apiKeys.rotate({
      keyId: old.key.keyId,
      accountId: undefined,
      overlapSeconds: 3_600,
    });
    const { name, scopes, accountId } = old.key;
    expect(rotated.key).toMatchObject({ name, scopes, accountId, limits: TIGHT, revokedAt: undefined });
    const end = rotated.oldKey.limits?.expiresAt?.getTime() ?? 0;
    expect(Math.abs(end - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect(rotated.oldKey).toMatchObject({
      keyId: old.key.keyId,
      limits: { perDay: TIGHT.perDay },
      revokedAt: undefined,
    });
    const { rows } = await pool.query("select distinct budget_id from api_key where account_id = $1", [
      uuidOf("acct", accountId),
    ]);
    expect(rows).toHaveLength(1);
  });

  it("revokes the old key at once without overlap, and keeps an earlier expiry", async () => {
    const { key, secret } = await newKey();
    expect(await works(secret)).toBe(true);
    const next = await one.apiKeys.rotate({ keyId: key.keyId, accountId: key.accountId, overlapSeconds: 0 });
    await stopsWorking(secret);
    expect(await works(next.secret)).toBe(true);
    expect(next.key.limits).toBeUndefined();

    const soon = new Date(Date.now() + 60_000);
    const ending = await newKey({ ...NO_LIMITS, expiresAt: soon });
    const { oldKey } = await one.apiKeys.rotate({
      keyId: ending.key.keyId,
      accountId: undefined,
      overlapSeconds: 3_600,
    });
    expect(oldKey.limits?.expiresAt).toEqual(soon);
  });

  it("rotates a key once under concurrency, and no inactive or foreign key", async () => {
    const { key } = await newKey();
    const { keyId, accountId } = key;
    const attempts = await Promise.allSettled(
      Array.from({ length: 6 }, (_, n) =>
        (n % 2 === 0 ? one : two).apiKeys.rotate({ keyId, accountId, overlapSeconds: 60 }),
      ),
    );
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const attempt of attempts)
      if (attempt.status === "rejected")
        expect(attempt.reason).toMatchObject(refused(/key_id: was replaced by key_/));
    expect(await one.apiKeys.list(accountId)).toHaveLength(2);

    const revoked = await newKey();
    await one.apiKeys.revoke(revoked.key.keyId);
    const expired = await newKey({ ...NO_LIMITS, expiresAt: new Date(Date.now() - 1) });
    for (const { key } of [revoked, expired])
      await expect(
        one.apiKeys.rotate({ keyId: key.keyId, accountId: undefined, overlapSeconds: 0 }),
      ).rejects.toMatchObject(refused(/key_id: no longer works; create a new key/));
    const foreign = await newKey();
    const NOT_FOUND = { code: "NOT_FOUND", message: "there is no such API key" };
    for (const unknown of [foreign.key.keyId, "key_nonsense", `key_${"0".repeat(32)}`]) {
      await expect(
        one.apiKeys.rotate({ keyId: unknown, accountId, overlapSeconds: 0 }),
      ).rejects.toMatchObject(NOT_FOUND);
      await expect(one.apiKeys.revoke(unknown, accountId)).rejects.toMatchObject(NOT_FOUND);
    }
    expect(await works(foreign.secret)).toBe(true);
  });
});

describe("changes of limits at once", () => {
  const LIMITS = fc.record(
    {
      expiresAt: fc.constant(TIGHT.expiresAt),
      perCall: amount(),
      tools: fc.constant(TIGHT.tools),
      ...BUDGET,
    },
    { requiredKeys: ["perDay", "perMonth"] },
  );

  it("all stay, in a key and in a group", async () => {
    const accountId = await newAccount();
    const stores = () => fc.shuffledSubarray([one, two, one, two], { minLength: 4 });
    await fc.assert(
      fc.asyncProperty(LIMITS, fc.record(BUDGET), stores(), async (limits, groupLimits, order) => {
        const { key } = await newKey(undefined, accountId);
        const group = await one.keyGroups.create({ accountId, name: "g", limits: NO_BUDGET });
        const singly = (wanted: Partial<KeyLimits>) =>
          Object.entries(wanted).map(([name, value], n) => ({
            change: { [name]: value },
            store: order[n % 4],
          }));
        await Promise.all([
          ...singly(limits).map(({ change, store }) =>
            store?.apiKeys.update({ keyId: key.keyId, accountId, ...NO_CHANGE, limits: change }),
          ),
          ...singly(groupLimits).map(({ change, store }) =>
            store?.keyGroups.update({ groupId: group.groupId, accountId, name: undefined, limits: change }),
          ),
        ]);
        expect((await one.apiKeys.get(key.keyId)).limits).toEqual({ ...NO_LIMITS, ...limits });
        const changed = (await one.keyGroups.list(accountId)).find(
          ({ groupId }) => groupId === group.groupId,
        );
        expect(changed?.limits).toEqual({ ...NO_BUDGET, ...groupLimits });
        await one.keyGroups.delete(group.groupId, accountId);
        await one.apiKeys.revoke(key.keyId);
      }),
      { numRuns: 10, endOnFailure: true },
    );
  });

  it("keep a warning level that comes before the limits", async () => {
    const { key } = await newKey();
    const { keyId, accountId } = key;
    const changed = { warnPercent: 95, perDay: 7n };
    for (const [name, value] of Object.entries(changed))
      await one.apiKeys.update({ keyId, accountId, ...NO_CHANGE, limits: { [name]: value } });
    expect((await one.apiKeys.get(keyId)).limits).toEqual({ ...NO_LIMITS, ...changed });
  });

  it("are refused when they replace limits that another change made, but for one", async () => {
    const { key } = await newKey(TIGHT);
    const { keyId, accountId } = key;
    const group = await one.keyGroups.create({ accountId, name: "g", limits: { ...NO_BUDGET, inAll: 5n } });
    const { groupId, limits: expected } = group;
    const round = Array.from({ length: 4 }, (_, n) => ({ ...NO_LIMITS, perDay: BigInt(n + 1) }));
    const updates: ((limits: KeyLimits) => Promise<ApiKey | KeyGroup>)[] = [
      (limits) => one.apiKeys.update({ keyId, accountId, ...NO_CHANGE, limits, expected: key.limits }),
      ({ perDay }) => two.keyGroups.update({ groupId, accountId, name: "h", limits: { perDay }, expected }),
    ];
    for (const update of updates) {
      const results = await Promise.allSettled(round.map(update));
      const problems = results.filter((result) => result.status === "rejected");
      expect(problems).toHaveLength(round.length - 1);
      for (const { reason } of problems)
        expect(reason).toMatchObject(refused(/^expected_limits: .*read them again/));
    }
  });
});

describe("key usage", () => {
  it("lists keys with their last use, daily spend and total cost", async () => {
    const accountId = await newAccount();
    await one.accounts.adjust({ accountId, amount: 10n * PRICE, reason: "test", idempotencyKey: "k" });
    const plain = await newKey(undefined, accountId);
    await nextMillisecond();
    const limited = await newKey({ ...TIGHT, perCall: undefined }, accountId);
    await pay(one.ledger, accountId, plain.key.keyId, false, 3);
    await pay(one.ledger, accountId, limited.key.keyId, true, 1);
    await one.ledger.authorize(callOf(accountId, { keyId: limited.key.keyId, budgeted: true }));
    const { secret } = plain;
    const before = Date.now();
    expect(await works(secret)).toBe(true);
    await two.stop();
    two.start();
    const used = await one.apiKeys.listWithUsage(accountId);
    expect(used).toMatchObject([
      {
        keyId: limited.key.keyId,
        budgets: [
          { period: "day", limit: 2n * PRICE, spent: PRICE, held: PRICE, reached: "limit" },
          { period: "month", limit: 20n * PRICE, spent: PRICE, held: PRICE, reached: undefined },
        ],
        spent: PRICE,
        chargedCalls: 1n,
        lastUsedAt: undefined,
      },
      { keyId: plain.key.keyId, budgets: [], spent: 3n * PRICE, chargedCalls: 3n },
    ]);
    expect(used[1]?.lastUsedAt?.getTime()).toBeGreaterThanOrEqual(before - 1);
    expect(await one.apiKeys.listWithUsage("acct_nonsense")).toEqual([]);
  });

  it("keeps the latest use, and pending uses while the database fails", async () => {
    const { key } = await newKey();
    const clock = { at: 2_000, now: () => clock.at };
    const lastUsed = async () =>
      (await one.apiKeys.list(key.accountId)).find(({ keyId }) => keyId === key.keyId)?.lastUsedAt?.getTime();
    const uses = new KeyUses({ pool, clock, log: silent });
    for (const [at, kept] of [
      [2_000, 2_000],
      [1_000, 2_000],
      [3_000, 3_000],
    ] as const) {
      clock.at = at;
      uses.record(key.keyId);
      await uses.flush();
      expect(await lastUsed()).toBe(kept);
    }
    await pool.query("alter table key_use rename to key_use_away");
    clock.at = 4_000;
    uses.record(key.keyId);
    await uses.flush();
    await pool.query("alter table key_use_away rename to key_use");
    uses.record("ses_00000000000000000000000000000000");
    await uses.stop();
    expect(await lastUsed()).toBe(4_000);
  });
});

async function pay(ledger: Ledger, accountId: string, keyId: string, budgeted: boolean, calls: number) {
  for (let n = 0; n < calls; n++) {
    const call = callOf(accountId, { keyId, budgeted });
    await ledger.authorize(call);
    await ledger.capture(completed(call));
  }
}
