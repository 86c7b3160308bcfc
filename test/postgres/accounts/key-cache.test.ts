import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { newApiKey, parseApiKey } from "../../../src/domain/accounts/api-key.ts";
import { afterAll, describe, expect, it } from "vitest";
import { DEFAULT_SCOPES } from "../../../src/domain/accounts/scope.ts";
import { PostgresAuthenticator } from "../../../src/postgres/accounts/authenticator.ts";
import { PostgresRateLimiter } from "../../../src/postgres/accounts/rate-limiter.ts";
import { DatabaseAway } from "../../../src/postgres/database/away.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { systemRandom } from "../../../src/system.ts";
import { forgedKey, mistyped } from "../../support/api-keys.ts";
import { openDatabaseLink } from "../../support/database-link.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { openKeySecrets, openStarted } from "../open-postgres.ts";
import { silent } from "../fixture.ts";

const database = await openDatabase();
const operator = closing(await openStarted(database.url));
/** A clock that the tests move. */
const clock = { at: Date.now(), now: () => clock.at };
/** Number of key lookups in the database. */
let asked = 0;
const pool = closing(openPool(database.url, { max: 2, applicationName: "test" }));
pool.on("acquire", () => asked++);
const notifications = new Notifications({ url: database.url, log: silent });
const secrets = await openKeySecrets(pool, clock);
const keyUses = { record: () => {} };
const authenticator = new PostgresAuthenticator({ pool, clock, notifications, secrets, keyUses });
notifications.start();
afterAll(() => notifications.stop());

/** A key that the authenticator has cached. */
async function rememberedKey() {
  const { accountId } = await operator.accounts.create(base58.encode(randomBytes(32)));
  const { key, secret } = await operator.apiKeys.create({ accountId, name: "test", scopes: DEFAULT_SCOPES });
  await expect
    .poll(async () => {
      const before = asked;
      return (await authenticator.authenticate(secret)) && asked - before;
    })
    .toBe(0);
  return { key, secret };
}

it("authenticates a cached key as its account", async () => {
  const { key, secret } = await rememberedKey();
  expect(await authenticator.authenticate(secret)).toMatchObject({
    keyId: key.keyId,
    accountId: key.accountId,
  });
});

/** The result of each authentication and the number of database lookups. */
async function tryAll(keys: readonly string[]) {
  const before = asked;
  let good = 0;
  for (let at = 0; at < keys.length; at += 1_000) {
    const callers = await Promise.all(
      keys.slice(at, at + 1_000).map(async (key) => authenticator.authenticate(key)),
    );
    good += callers.filter((caller) => caller !== undefined).length;
  }
  return { good, asked: asked - before };
}

describe("an invalid key", () => {
  it("is rejected without a query when forged or mistyped", async () => {
    const { accountId } = await operator.accounts.create(base58.encode(randomBytes(32)));
    const { secret } = await operator.apiKeys.create({ accountId, name: "test", scopes: DEFAULT_SCOPES });
    const forged = Array.from({ length: 10_000 }, () => forgedKey());
    const wrong = Array.from({ length: 100 }, () => mistyped(secret)).filter((key) => versionOf(key) === 1);
    expect(await tryAll([...forged, ...wrong])).toEqual({ good: 0, asked: 0 });
    expect(await tryAll([secret])).toEqual({ good: 1, asked: 1 });
  });

  it("is unknown when correctly signed but with another body", async () => {
    const { secret } = await rememberedKey();
    const bytes = parseApiKey(secret)?.signed.subarray(1, 21) ?? Buffer.alloc(0);
    bytes[19] = (bytes[19] ?? 0) ^ 1;
    const like = newApiKey(secrets.current(), { bytes: () => new Uint8Array(bytes) });
    expect(like.slice(0, 30)).toBe(secret.slice(0, 30));
    expect(await tryAll([like])).toEqual({ good: 0, asked: 1 });
    expect(await tryAll([secret])).toEqual({ good: 1, asked: 0 });
  });

  it("reloads secrets at most once a second for unknown versions, one query at a time", async () => {
    clock.at += 2_000;
    const forge = () =>
      Array.from({ length: 1_000 }, (_, n) =>
        newApiKey({ version: 2 + n, secret: randomBytes(32) }, systemRandom),
      );
    expect(await tryAll(forge())).toEqual({ good: 0, asked: 1 });
    expect(await tryAll(forge())).toEqual({ good: 0, asked: 0 });
    clock.at += 1_500;
    expect(await tryAll(forge())).toEqual({ good: 0, asked: 1 });
  });

  it("is looked up once in a few seconds when revoked or signed but unknown", async () => {
    const { key, secret } = await rememberedKey();
    await operator.apiKeys.revoke(key.keyId);
    await expect
      .poll(() => authenticator.authenticate(secret), { timeout: 15_000, interval: 10 })
      .toBeUndefined();
    const unknown = newApiKey(secrets.current(), systemRandom);
    await tryAll([unknown]);
    const flood = Array.from({ length: 1_000 }, () => [secret, unknown]).flat();
    expect(await tryAll(flood)).toEqual({ good: 0, asked: 0 });
    clock.at += 6_000;
    const { good, asked: statements } = await tryAll(flood);
    expect(good).toBe(0);
    expect(statements).toBeLessThanOrEqual(10);
    expect(await tryAll(flood)).toEqual({ good: 0, asked: 0 });
  });
});

describe("a new signing secret", () => {
  it("signs keys after ten seconds; its keys work on instances that have not loaded it, and older keys stay valid", async () => {
    const { secret: old } = await rememberedKey();
    const { accountId } = await operator.accounts.create(base58.encode(randomBytes(32)));
    const { version: next } = await operator.sealingKeyAdmin.rotate({ purpose: "api-keys", now: false });
    await secrets.reload();
    expect(secrets.current().version).toBe(next - 1);
    clock.at += 11_000;
    expect(secrets.current().version).toBe(next);

    await pool.query("update api_key_secret set active_from = now() where version = $1", [next]);
    const maker = await openStarted(database.url);
    const { secret } = await maker.apiKeys.create({ accountId, name: "test", scopes: DEFAULT_SCOPES });
    expect(versionOf(secret)).toBe(next);
    const { rows } = await pool.query("select secret_version from api_key where account_id = $1", [
      accountId.slice(5),
    ]);
    expect(rows).toEqual([{ secret_version: next }]);
    // It may have reloaded within the last second, and then waits for the next reload.
    await expect.poll(async () => operator.authenticator.authenticate(secret)).toMatchObject({ accountId });
    expect(await authenticator.authenticate(old)).toBeDefined();
    await maker.close();
  });
});

function versionOf(key: string): number | undefined {
  return parseApiKey(key)?.version;
}

it("is accepted for ten minutes while the database is away, unless it was revoked before", async () => {
  const link = closing(await openDatabaseLink(database.url));
  const linkedPool = closing(openPool(link.url, { max: 2, applicationName: "test" }));
  const linked = new Notifications({ url: link.url, log: silent });
  const away = new DatabaseAway(linked);
  const keys = new PostgresAuthenticator({
    ...{ pool: linkedPool, clock, notifications: linked, secrets, keyUses, away },
  });
  const limiter = new PostgresRateLimiter({ pool: linkedPool, clock, away });
  linked.start();
  try {
    await expect.poll(() => linked.live).toBe(true);
    const [kept, revoked, unseen] = [await rememberedKey(), await rememberedKey(), await rememberedKey()];
    const known = async ({ secret }: typeof kept) => (await keys.authenticate(secret)) !== undefined;
    expect([await known(kept), await known(revoked)]).toEqual([true, true]);
    await operator.apiKeys.revoke(revoked.key.keyId);
    await expect.poll(() => known(revoked), { timeout: 15_000, interval: 10 }).toBe(false);

    link.cut();
    await expect.poll(() => linked.live).toBe(false);
    const unavailable = expect.objectContaining({ code: "UNAVAILABLE" });
    expect(await known(kept)).toBe(true);
    const others = await Promise.allSettled([revoked, unseen].map(known));
    expect(others).toEqual([1, 2].map(() => ({ status: "rejected", reason: unavailable })));
    const caller = await keys.authenticate(kept.secret);
    if (!caller) throw new Error("the key is unknown");
    const takes = await Promise.all(
      Array.from({ length: caller.tier.burst + 1 }, async () => limiter.take(caller)),
    );
    expect(takes.filter(({ allowed }) => !allowed)).toHaveLength(1);
    clock.at += 600_000;
    await expect(known(kept)).rejects.toEqual(unavailable);

    link.mend();
    await expect.poll(() => linked.live).toBe(true);
    expect(away.lasts).toBe(false);
    expect([await known(kept), await known(revoked), await known(unseen)]).toEqual([true, false, true]);
  } finally {
    await linked.stop();
  }
});
