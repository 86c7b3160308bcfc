import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { CAPTURE_RUNS, captureValues } from "../../../src/postgres/ledger/start-and-capture.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  expireLeases,
  failed,
  makeAccount,
  openInstance,
  PRICE,
  type Instance,
  endRun,
} from "../fixture.ts";

let database: TestDatabase;
let one: Instance;
let two: Instance;

beforeAll(async () => {
  database = await createTestDatabase();
  [one, two] = [openInstance(database.url), openInstance(database.url)];
});
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  await database.drop();
});

/** A run of the first instance that spends the whole balance. */
async function begin() {
  const account = await makeAccount(one.pool, PRICE);
  const call = callOf(account, { idempotencyKey: "k" });
  expect(await one.ledger.authorize(call)).toEqual({ kind: "started" });
  return { account, call };
}

describe("an ended run", () => {
  it("stays released whatever its instance reports later", async () => {
    const { account, call } = await begin();
    expect(await one.ledger.release(failed(call))).toEqual({ kind: "released" });
    await expect(one.ledger.capture(completed(call))).resolves.toEqual({ kind: "lost" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  it("stays charged whatever its instance reports later", async () => {
    const { account, call } = await begin();
    expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    await expect(one.ledger.release(failed(call))).resolves.toEqual({ kind: "lost" });
    expect(await one.ledger.authorize(callOf(account, { idempotencyKey: "k" }))).toMatchObject({
      kind: "replay",
    });
    expect(await one.ledger.balance(account)).toBe(0n);
  });
});

it("captures no run that ended or that belongs to another instance", async () => {
  const [active, ended] = [await begin(), await begin()];
  await one.ledger.release(failed(ended.call));
  for (const [{ call }, { pool, instanceId }] of [
    [active, two],
    [ended, one],
  ] as const) {
    const values = captureValues([{ run: completed(call), call, stored: "{}" }], instanceId);
    const { rows } = await pool.query(CAPTURE_RUNS, values);
    expect(rows).toMatchObject([{ captured: null, issued: null }]);
  }
  expect(await one.ledger.capture(completed(active.call))).toMatchObject({ kind: "captured" });
});

describe("a run of another instance", () => {
  it("cannot be ended by this instance", async () => {
    const { account, call } = await begin();
    for (const ending of [failed(call), completed(call, { answer: 1 })]) {
      expect(await endRun(two.ledger, ending)).toEqual({ kind: "lost" });
      const { rows } = await two.pool.query("select status from run where id = $1", [
        uuidFromId("run", call.runId),
      ]);
      expect(rows).toEqual([{ status: "active" }]);
    }
    expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    expect(await one.ledger.balance(account)).toBe(0n);
  });

  it("is not renewed by this instance's heartbeat", async () => {
    const { account, call } = await begin();
    two.leases.add(uuidFromId("run", call.runId));
    await expireLeases(one.pool, call);
    await two.leases.renew();
    two.leases.remove(uuidFromId("run", call.runId));
    expect(await two.sweeper.sweep()).toBe(1);
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  it("keeps its lease when another run of its instance has expired", async () => {
    const [expired, leased] = [await begin(), await begin()];
    await expireLeases(one.pool, expired.call);
    expect(await two.sweeper.sweep()).toBe(1);
    expect(await one.ledger.capture(completed(leased.call))).toMatchObject({ kind: "captured" });
    expect(await one.ledger.balance(expired.account)).toBe(PRICE);
  });
});
