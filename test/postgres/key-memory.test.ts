import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import type { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DEFAULT_SCOPES } from "../../src/domain/scope.ts";
import { PostgresAuthenticator } from "../../src/postgres/authenticator.ts";
import type { Postgres } from "../../src/postgres/index.ts";
import { Notifications } from "../../src/postgres/notifications.ts";
import { openPool } from "../../src/postgres/pool.ts";
import { systemClock } from "../../src/system.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { openStarted } from "./open.ts";

let database: TestDatabase;
let operator: Postgres;
let pool: Pool;
let authenticator: PostgresAuthenticator;
let notifications: Notifications;
/** How often the authenticator asked the database. */
let asked = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  operator = await openStarted(database.url);
  pool = openPool(database.url, { max: 2, applicationName: "test" }).on("acquire", () => asked++);
  const log = { warn: () => {}, error: () => {} };
  notifications = new Notifications({ url: database.url, log });
  authenticator = new PostgresAuthenticator({ pool, clock: systemClock, notifications, uses: { note: () => {} } });
  notifications.start();
});
afterAll(async () => {
  await notifications.stop();
  await Promise.all([operator.close(), pool.end()]);
  await database.drop();
});

/** A key that the authenticator answers from memory. */
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

it("a key that is remembered stands for its account", async () => {
  const { key, secret } = await rememberedKey();
  expect(await authenticator.authenticate(secret)).toMatchObject({ keyId: key.keyId, accountId: key.accountId });
});

it("a key that is remembered is forgotten within a second of its revocation", async () => {
  const { key, secret } = await rememberedKey();
  await operator.apiKeys.revoke(key.keyId);
  await expect.poll(() => authenticator.authenticate(secret), { timeout: 1_000, interval: 10 }).toBeUndefined();
});
