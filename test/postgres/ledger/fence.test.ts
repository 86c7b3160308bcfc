import { describe, expect, it } from "vitest";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import {
  CAPTURE_RUNS,
  captureValues,
  START_CALLS,
  startValues,
} from "../../../src/postgres/ledger/start-and-capture.ts";
import {
  completed,
  expireLeases,
  failed,
  PRICE,
  endRun,
  openLedger,
  inTransaction,
  callOf,
  depositOf,
  paymentOf,
} from "../fixture.ts";
import { callRecord, endingRecord } from "../../../src/postgres/ledger/records.ts";

const { one, two } = await openLedger();

/** A run of the first instance that spends the whole balance. */
async function begin() {
  const account = await one.account(PRICE);
  const call = await one.start(account, { idempotencyKey: "k" });
  return { account, call };
}

describe("an ended run", () => {
  it("stays released whatever its instance reports later", async () => {
    const { account, call } = await begin();
    expect(await one.ledger.release(failed(call))).toEqual({ kind: "released" });
    await expect(one.ledger.capture(completed(call))).resolves.toEqual({ kind: "lost" });
    expect(await one.balance(account)).toBe(PRICE);
  });

  it("stays charged whatever its instance reports later", async () => {
    const { account, call } = await begin();
    expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    await expect(one.ledger.release(failed(call))).resolves.toEqual({ kind: "lost" });
    expect(await one.authorize(account, { idempotencyKey: "k" })).toMatchObject({
      kind: "replay",
    });
    expect(await one.balance(account)).toBe(0n);
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
    expect(await one.balance(account)).toBe(0n);
  });

  it("is not renewed by this instance's heartbeat", async () => {
    const { account, call } = await begin();
    two.leases.add(uuidFromId("run", call.runId));
    await expireLeases(one.pool, call);
    await two.leases.renew();
    two.leases.remove(uuidFromId("run", call.runId));
    expect(await two.sweeper.sweep()).toBe(1);
    expect(await one.balance(account)).toBe(PRICE);
  });

  it("keeps its lease when another run of its instance has expired", async () => {
    const [expired, leased] = [await begin(), await begin()];
    await expireLeases(one.pool, expired.call);
    expect(await two.sweeper.sweep()).toBe(1);
    expect(await one.ledger.capture(completed(leased.call))).toMatchObject({ kind: "captured" });
    expect(await one.balance(expired.account)).toBe(PRICE);
  });
});

/** How the transaction of the statement commits. */
async function commitOf(statement: string, values: unknown[]): Promise<string> {
  return await inTransaction(one.pool, async (client) => {
    await client.query(statement, values);
    const text = "select current_setting('synchronous_commit') as mode";
    const { rows } = await client.query<{ mode: string }>(text);
    await client.query("commit");
    return rows[0]?.mode ?? "";
  });
}

it("does not wait for the disk to hold a balance", async () => {
  const call = callOf(await one.account(1_000_000n));
  const start = startValues([call], one.instanceId, 15_000);
  expect(await commitOf(START_CALLS, start)).toBe("off");
});

it("waits for the disk to charge, to credit a payment and to release", async () => {
  const account = await one.account(1_000_000n);
  const [call, paid] = [callOf(account), callOf(account, { payment: paymentOf(depositOf()) })];
  await one.ledger.authorize(call);
  const capture = captureValues([{ run: completed(call), call, stored: undefined }], one.instanceId);
  expect(await commitOf(CAPTURE_RUNS, capture)).toBe("on");
  const authorize = `select * from ledger_authorize(array(select call
    from json_populate_recordset(null::ledger_call, $1) call), $2, '1 minute')`;
  expect(await commitOf(authorize, [JSON.stringify([callRecord(paid, 0)]), one.instanceId])).toBe("on");
  const end = `select * from ledger_end(array(select ending
    from json_populate_recordset(null::ledger_ending, $1) ending), '{}', $2)`;
  expect(await commitOf(end, [JSON.stringify([endingRecord(failed(paid), 0)]), one.instanceId])).toBe("on");
});
