import { createServer } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { SessionLock } from "../../../src/postgres/ledger/session-lock.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  expectCleanAudit,
  expireLeases,
  makeAccount,
  openInstance,
  PRICE,
  untilWaiting,
  type Instance,
} from "../fixture.ts";

const LEASE_MS = 15_000;
const silent = { info: () => {}, warn: () => {}, error: () => {} };

let database: TestDatabase;
let stalled: Instance;
let other: Instance;
let session: SessionLock;

beforeAll(async () => {
  database = await createTestDatabase();
  other = openInstance(database.url, LEASE_MS);
});
beforeEach(async () => {
  stalled = openInstance(database.url, LEASE_MS);
  session = new SessionLock({ url: database.url, instanceId: stalled.instanceId, log: silent });
  session.start();
});
afterEach(async () => {
  await session.stop();
  await stalled.close();
  await untilSessions(0);
});
afterAll(async () => {
  await expectCleanAudit(other.pool);
  await other.close();
  await database.drop();
});

async function untilSessions(count: number): Promise<void> {
  const held = `select from pg_locks where locktype = 'advisory' and granted and database = (select oid
      from pg_database where datname = current_database())`;
  await expect.poll(async () => (await other.pool.query(held)).rowCount, { interval: 10 }).toBe(count);
}

/** A run whose lease expired one second ago. */
async function begin() {
  await untilSessions(1);
  const account = await makeAccount(other.pool, PRICE);
  const call = callOf(account);
  expect(await stalled.ledger.authorize(call)).toEqual({ kind: "started" });
  await expireLeases(other.pool, call);
  return { account, call };
}

describe("a run with an expired lease", () => {
  it("is left to its connected instance and charged once", async () => {
    const { account, call } = await begin();
    expect(await other.sweeper.sweep()).toBe(0);
    expect(await stalled.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    expect(await other.ledger.balance(account)).toBe(0n);
  });

  it("is released four leases later, also while its instance is connected", async () => {
    const { account, call } = await begin();
    const over = "update run set lease_until = now() - $2 * interval '1 millisecond' where id = $1";
    await other.pool.query(over, [uuidFromId("run", call.runId), 4 * LEASE_MS - 2_000]);
    expect(await other.sweeper.sweep()).toBe(0);
    await other.pool.query(over, [uuidFromId("run", call.runId), 4 * LEASE_MS + 100]);
    expect(await other.sweeper.sweep()).toBe(1);
    expect(await stalled.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    expect(await other.ledger.balance(account)).toBe(PRICE);
  });

  it("is released when the session of its instance has ended", async () => {
    const { account } = await begin();
    await session.stop();
    await untilSessions(0);
    expect(await other.sweeper.sweep()).toBe(1);
    expect(await other.ledger.balance(account)).toBe(PRICE);
  });

  it("is never released by its own instance while in use, and at once when given up", async () => {
    const { account, call } = await begin();
    await other.pool.query("update run set lease_until = now() - interval '1 day' where id = $1", [
      uuidFromId("run", call.runId),
    ]);
    expect(await stalled.sweeper.sweep()).toBe(0);
    stalled.leases.remove(uuidFromId("run", call.runId));
    expect(await stalled.sweeper.sweep()).toBe(1);
    expect(await other.ledger.balance(account)).toBe(PRICE);
  });
});

it("has its lease renewed before it starts, until the start fails", async () => {
  const [funded, poor] = [await makeAccount(other.pool, PRICE), await makeAccount(other.pool, 0n)];
  const [call, refused] = [callOf(funded), callOf(poor)];
  const run = uuidFromId("run", call.runId);
  const holder = await other.pool.connect();
  await holder.query("begin");
  await holder.query("select from account where id = $1 for update", [uuidFromId("acct", funded)]);
  const started = Promise.all([stalled.ledger.authorize(call), stalled.ledger.authorize(refused)]);
  await untilWaiting(other.pool, stalled);
  const renewed = stalled.leases.runIds;
  // Before any expectation: a start that waits would keep the instance from closing.
  await holder.query("commit");
  holder.release();
  expect(renewed).toContain(run);
  expect(await started).toMatchObject([{ kind: "started" }, { kind: "insufficient" }]);
  expect(stalled.leases.runIds).toEqual([run]);
  await stalled.ledger.capture(completed(call));
  expect(stalled.leases.runIds).toEqual([]);
});

it("stops although an unreachable server never confirms the lock", async () => {
  const asked = Promise.withResolvers<void>();
  const [AUTHENTICATED, READY] = [
    Buffer.from("520000000800000000", "hex"),
    Buffer.from("5a0000000549", "hex"),
  ];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.once("data", () => asked.resolve());
      socket.write(Buffer.concat([AUTHENTICATED, READY]));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const url = `postgres://toolgate:toolgate@127.0.0.1:${port}/toolgate`;
  const unanswered = new SessionLock({ url, instanceId: stalled.instanceId, log: silent });
  unanswered.start();
  await asked.promise;
  await expect(unanswered.stop()).resolves.toBeUndefined();
  server.close();
});
