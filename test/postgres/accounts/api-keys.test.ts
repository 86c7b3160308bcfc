import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { describe, expect, it } from "vitest";
import { KEY_PATTERN } from "../../../src/domain/accounts/api-key.ts";
import { DEFAULT_SCOPES } from "../../../src/domain/accounts/scope.ts";
import type { Authenticator } from "../../../src/app/accounts/authenticator.ts";
import type { Caller } from "../../../src/domain/accounts/caller.ts";
import { PostgresAuthenticator } from "../../../src/postgres/accounts/authenticator.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { systemClock } from "../../../src/system.ts";
import { query } from "../../support/database-server.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { openCuttingProxy } from "../database/cutting-proxy.ts";
import { openKeySecrets, openStarted } from "../open-postgres.ts";
import { silent } from "../fixture.ts";

const database = await openDatabase();
const [one, two] = [closing(await openStarted(database.url)), closing(await openStarted(database.url))];
const { accountId } = await one.accounts.create(base58.encode(randomBytes(32)));

const create = () => one.apiKeys.create({ accountId, name: "test", scopes: DEFAULT_SCOPES });

/** Waits for a condition far less than the 30 seconds for which keys are cached. */
const expectSoon = (
  authenticator: Authenticator,
  secret: string,
  done: (caller: Caller | undefined) => boolean,
) =>
  expect
    .poll(async () => done(await authenticator.authenticate(secret)), { timeout: 15_000, interval: 5 })
    .toBe(true);

describe("API keys", () => {
  it("shows a key once and stores its hash", async () => {
    const { key, secret } = await create();
    expect(secret).toMatch(KEY_PATTERN);
    expect(key).toMatchObject({
      accountId,
      name: "test",
      prefix: secret.slice(0, 14),
      scopes: DEFAULT_SCOPES,
      revokedAt: undefined,
    });
    const { rows } = await query(database.url, "select * from api_key");
    expect(JSON.stringify(rows)).not.toContain(secret.slice(14));
  });

  it("authenticates a key as its account on every instance", async () => {
    const { key, secret } = await create();
    const caller = {
      keyId: key.keyId,
      accountId,
      scopes: new Set(DEFAULT_SCOPES),
      tier: { ratePerMinute: 60, burst: 10 },
      accountTier: { ratePerMinute: 600, burst: 100 },
      operator: false,
      limits: undefined,
      budgeted: false,
      limitsVersion: 0,
      blockedReason: undefined,
      requestLog: { bodies: "none", hours: 168 },
    };
    for (const instance of [one, two, one, two])
      expect(await instance.authenticator.authenticate(secret)).toEqual(caller);
  });

  it("rejects unknown, malformed and overlong keys", async () => {
    const { secret } = await create();
    for (const wrong of [
      `${secret}1`,
      secret.slice(0, -1),
      secret.toLowerCase(),
      secret.slice(9),
      "",
      "sk-agent-",
      `sk-agent-${"1".repeat(10_000)}`,
    ]) {
      expect(await one.authenticator.authenticate(wrong), wrong.slice(0, 60)).toBeUndefined();
    }
  });

  it("accepts a key that was rejected before it was created", async () => {
    const { key, secret } = await create();
    await query(database.url, `delete from api_key where id = '${key.keyId.slice(4)}'`);
    expect(await two.authenticator.authenticate(secret)).toBeUndefined();
    const sha = `sha256('${secret}'::bytea)`;
    await query(
      database.url,
      `insert into api_key (id, account_id, sha256, prefix, name, scopes)
        values ('${key.keyId.slice(4)}', '${accountId.slice(5)}', ${sha}, '', '', '{}')`,
    );
    await expectSoon(two.authenticator, secret, (caller) => caller !== undefined);
  });

  it("rejects a cached key long before it expires when it is revoked", async () => {
    const { key, secret } = await create();
    await two.authenticator.authenticate(secret);
    await two.authenticator.authenticate(secret);
    const revoked = await one.apiKeys.revoke(key.keyId);
    expect(revoked.revokedAt).toBeInstanceOf(Date);
    await expectSoon(two.authenticator, secret, (caller) => caller === undefined);
    expect(await one.apiKeys.revoke(key.keyId)).toEqual(revoked);
  });

  it("rejects a revoked key long before it expires when the notification connection is lost", async () => {
    const { key, secret } = await create();
    await two.authenticator.authenticate(secret);
    await query(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'toolgate notifications'`,
    );
    await one.apiKeys.revoke(key.keyId);
    await expectSoon(two.authenticator, secret, (caller) => caller === undefined);
  });

  it("rejects a revoked key long before it expires when the notification connection is silent", async () => {
    const { key, secret } = await create();
    const proxy = await openCuttingProxy(database.url);
    const pool = openPool(database.url, { max: 2, applicationName: "test" });
    const notifications = new Notifications({
      url: proxy.url,
      log: silent,
    });
    const authenticator = new PostgresAuthenticator({
      pool,
      clock: systemClock,
      notifications,
      secrets: await openKeySecrets(pool),
      keyUses: { record: () => {} },
    });
    notifications.start();
    try {
      await expect.poll(() => notifications.live).toBe(true);
      for (let n = 0; n < 3; n++) expect(await authenticator.authenticate(secret)).toBeDefined();
      proxy.freeze();
      await one.apiKeys.revoke(key.keyId);
      const second = await create();
      await expectSoon(authenticator, secret, (caller) => caller === undefined);
      for (let n = 0; n < 3; n++) expect(await authenticator.authenticate(second.secret)).toBeDefined();
      await one.apiKeys.revoke(second.key.keyId);
      await expectSoon(authenticator, second.secret, (caller) => caller === undefined);
    } finally {
      await notifications.stop();
      await pool.end();
      await proxy.close();
    }
  });

  it("applies a changed tier and role of the account on every instance", async () => {
    const { secret } = await create();
    await two.authenticator.authenticate(secret);
    await one.accounts.setTier(accountId, { ratePerMinute: 600, burst: 50, accountBurst: 70 });
    await one.accounts.setOperator(accountId, true);
    await expectSoon(
      two.authenticator,
      secret,
      (caller) => caller !== undefined && caller.accountTier.burst === 70 && caller.operator,
    );
  });

  it("lists the keys of all accounts, newest first, and none of an unknown account", async () => {
    const { key } = await create();
    await one.apiKeys.revoke(key.keyId);
    const all = (await one.apiKeys.list(undefined)).map(({ keyId }) => keyId);
    expect(all).toContain(key.keyId);
    expect(all).toEqual(all.toSorted().toReversed());
    expect(await one.apiKeys.list("acct_nonsense")).toEqual([]);
  });

  it("requires an existing account to create and an existing key to revoke", async () => {
    const ghost = "0".repeat(32);
    await expect(
      one.apiKeys.create({ accountId: `acct_${ghost}`, name: "", scopes: [] }),
    ).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    for (const keyId of [`key_${ghost}`, "nonsense"])
      await expect(one.apiKeys.revoke(keyId)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
