import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { SessionLock } from "../../../src/postgres/ledger/leases.ts";
import { listen } from "../../support/servers.ts";
import {
  callOf,
  completed,
  expectCleanAudit,
  expireLeases,
  openInstance,
  PRICE,
  untilWaiting,
  type Instance,
  silent,
  openLedger,
} from "../fixture.ts";

const LEASE_MS = 15_000;

const { database, one: other } = await openLedger({ leaseMs: LEASE_MS });
let stalled: Instance;
let session: SessionLock;

beforeEach(() => {
  stalled = openInstance(database.url, { leaseMs: LEASE_MS });
  session = new SessionLock({ url: database.url, instanceId: stalled.instanceId, log: silent });
  session.start();
});
afterEach(async () => {
  await session.stop();
  await stalled.close();
  await untilSessions(0);
});

async function untilSessions(count: number): Promise<void> {
  const held = `select from pg_locks where locktype = 'advisory' and granted and database = (select oid
      from pg_database where datname = current_database())`;
  await expect.poll(async () => (await other.pool.query(held)).rowCount, { interval: 10 }).toBe(count);
}

/** A run whose lease expired one second ago. */
async function begin() {
  await untilSessions(1);
  const account = await other.account(PRICE);
  const call = await stalled.start(account);
  await expireLeases(other.pool, call);
  return { account, call };
}

describe("a run with an expired lease", () => {
  it("is left to its connected instance and charged once", async () => {
    const { account, call } = await begin();
    expect(await other.sweeper.sweep()).toBe(0);
    expect(await stalled.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    expect(await other.balance(account)).toBe(0n);
  });

  it("is released four leases later, also while its instance is connected", async () => {
    const { account, call } = await begin();
    const over = "update run set lease_until = now() - $2 * interval '1 millisecond' where id = $1";
    await other.pool.query(over, [uuidFromId("run", call.runId), 2 * LEASE_MS]);
    expect(await other.sweeper.sweep()).toBe(0);
    await other.pool.query(over, [uuidFromId("run", call.runId), 4 * LEASE_MS + 100]);
    expect(await other.sweeper.sweep()).toBe(1);
    expect(await stalled.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    expect(await other.balance(account)).toBe(PRICE);
  });

  it("is released when the session of its instance has ended", async () => {
    const { account } = await begin();
    await session.stop();
    await untilSessions(0);
    expect(await other.sweeper.sweep()).toBe(1);
    expect(await other.balance(account)).toBe(PRICE);
  });

  it("is never released by its own instance while in use, and at once when given up", async () => {
    const { account, call } = await begin();
    await other.pool.query("update run set lease_until = now() - interval '1 day' where id = $1", [
      uuidFromId("run", call.runId),
    ]);
    expect(await stalled.sweeper.sweep()).toBe(0);
    stalled.leases.remove(uuidFromId("run", call.runId));
    expect(await stalled.sweeper.sweep()).toBe(1);
    expect(await other.balance(account)).toBe(PRICE);
  });
});

it("has its lease renewed before it starts, until the start fails", async () => {
  const [funded, poor] = [await other.account(PRICE), await other.account()];
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
  const url = `postgres://toolgate:toolgate@127.0.0.1:${await listen(server)}/toolgate`;
  const unanswered = new SessionLock({ url, instanceId: stalled.instanceId, log: silent });
  unanswered.start();
  await asked.promise;
  await expect(unanswered.stop()).resolves.toBeUndefined();
  server.close();
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(other.pool));
