import { afterAll, beforeAll, expect, it } from "vitest";
import {
  CAPTURE_RUNS,
  captureValues,
  START_CALLS,
  startValues,
} from "../../../src/postgres/ledger/start-and-capture.ts";
import { callRecord, endingRecord } from "../../../src/postgres/ledger/records.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  failed,
  makeAccount,
  openInstance,
  paymentOf,
  type Instance,
} from "../fixture.ts";

let database: TestDatabase;
let instance: Instance;

beforeAll(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
});
afterAll(async () => {
  await instance.close();
  await database.drop();
});

/** How the transaction of the statement commits. */
async function commitOf(statement: string, values: unknown[]): Promise<string> {
  const client = await instance.pool.connect();
  try {
    await client.query("begin");
    await client.query(statement, values);
    const { rows } = await client.query<{ mode: string }>(
      "select current_setting('synchronous_commit') as mode",
    );
    await client.query("commit");
    return rows[0]?.mode ?? "";
  } finally {
    client.release();
  }
}

it("does not wait for the disk to hold a balance", async () => {
  const call = callOf(await makeAccount(instance.pool, 1_000_000n));
  const start = startValues([call], instance.instanceId, 15_000);
  expect(await commitOf(START_CALLS, start)).toBe("off");
});

it("waits for the disk to charge, to credit a payment and to release", async () => {
  const account = await makeAccount(instance.pool, 1_000_000n);
  const [call, paid] = [callOf(account), callOf(account, { payment: paymentOf(depositOf()) })];
  await instance.ledger.authorize(call);
  const capture = captureValues([{ run: completed(call), call, stored: undefined }], instance.instanceId);
  expect(await commitOf(CAPTURE_RUNS, capture)).toBe("on");
  const authorize = `select * from ledger_authorize(array(select call
    from json_populate_recordset(null::ledger_call, $1) call), $2, '1 minute')`;
  expect(await commitOf(authorize, [JSON.stringify([callRecord(paid, 0)]), instance.instanceId])).toBe("on");
  const end = `select * from ledger_end(array(select ending
    from json_populate_recordset(null::ledger_ending, $1) ending), '{}', $2)`;
  expect(await commitOf(end, [JSON.stringify([endingRecord(failed(paid), 0)]), instance.instanceId])).toBe(
    "on",
  );
});
