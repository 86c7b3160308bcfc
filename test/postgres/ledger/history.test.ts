import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresHistory } from "../../../src/postgres/ledger/history.ts";
import { PostgresReceipts } from "../../../src/postgres/ledger/receipts.ts";
import { PostgresRuns } from "../../../src/postgres/ledger/runs.ts";
import { newId, uuidOf } from "../../../src/domain/core/ids.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { signatureFrom } from "../../../src/postgres/database/row-mapping.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  chargeOf,
  completed,
  depositOf,
  failed,
  makeAccount,
  openInstance,
  paymentOf,
  PRICE,
  type Instance,
} from "../fixture.ts";

let database: TestDatabase;
let instance: Instance;
let history: PostgresHistory;
let accountId: string;
let otherId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
  const { pool } = instance;
  history = new PostgresHistory({ pool, receipts: new PostgresReceipts(pool), runs: new PostgresRuns(pool) });
  accountId = await makeAccount(pool, 100n * PRICE);
  otherId = await makeAccount(pool, 100n * PRICE);
});
afterAll(async () => {
  await instance.close();
  await database.drop();
});

describe("run details", () => {
  it("returns the result, the API key and the idempotency key of a run to its account only", async () => {
    const keyId = newId("key", systemClock, systemRandom);
    await instance.pool.query(
      `insert into api_key (id, account_id, sha256, prefix, name, scopes)
        values ($1, $2, sha256('x'), 'sk', 'mine', '{}')`,
      [uuidOf("key", keyId), uuidOf("acct", accountId)],
    );
    const call = callOf(accountId, { idempotencyKey: "once" });
    await instance.ledger.authorize(call);
    const end = completed(call, { answer: 42 });
    const receiptId = await chargeOf(instance.ledger, end);
    await instance.pool.query("update run set key_id = $1 where id = $2", [
      uuidOf("key", keyId),
      uuidOf("run", call.runId),
    ]);
    const details = {
      run: { runId: call.runId, status: "completed" },
      receipt: { receiptId },
      key: { keyId, name: "mine" },
      outcome: "succeeded",
      idempotencyKey: "once",
      result: { answer: 42 },
      payment: undefined,
    };
    expect(await history.ofRun(accountId, call.runId)).toMatchObject(details);
    expect(await history.ofReceipt(accountId, receiptId)).toMatchObject(details);
    const { key, outcome } = details;
    const running = callOf(accountId);
    await instance.ledger.authorize(running);
    expect(await history.callsOf(accountId, [call.runId, running.runId])).toEqual(
      new Map([
        [call.runId, { key, outcome }],
        [running.runId, { key: { keyId: running.keyId, name: "" }, outcome: undefined }],
      ]),
    );
    expect(await history.callsOf(otherId, [call.runId])).toEqual(new Map());
    expect(await history.ofRun(otherId, call.runId)).toBeUndefined();
    expect(await history.ofReceipt(otherId, receiptId)).toBeUndefined();
    expect(await history.ofRun(accountId, "run_nonsense")).toBeUndefined();
    expect(await history.ofReceipt(accountId, call.runId)).toBeUndefined();
  });

  it("returns no result of a later run with the same claim, and none that was not stored", async () => {
    const first = callOf(accountId, { idempotencyKey: "again" });
    await instance.ledger.authorize(first);
    await instance.ledger.release(failed(first));
    const second = callOf(accountId, { idempotencyKey: "again" });
    await instance.ledger.authorize(second);
    await instance.ledger.capture(completed(second));
    expect(await history.ofRun(accountId, first.runId)).toMatchObject({
      run: { status: "failed", error: { code: "TOOL_FAILED" } },
      receipt: undefined,
      idempotencyKey: "again",
      result: undefined,
    });
    const unkept = callOf(accountId);
    await instance.ledger.authorize(unkept);
    await instance.ledger.capture(completed(unkept));
    await instance.pool.query("update run set key_id = null");
    expect(await history.ofRun(accountId, unkept.runId)).toMatchObject({
      key: undefined,
      idempotencyKey: undefined,
      result: undefined,
    });
  });

  it("returns the payment of a run as in the ledger, also after its reversal", async () => {
    const deposit = depositOf({ payer: "the payer", slot: 77n });
    const call = callOf(accountId, { payment: paymentOf(deposit) });
    await instance.ledger.authorize(call);
    const end = completed(call);
    const receiptId = await chargeOf(instance.ledger, end);
    const payment = {
      txSignature: deposit.reference,
      amount: PRICE,
      payer: "the payer",
      slot: 77n,
      blockTime: deposit.blockTime,
      finalized: false,
      reversed: false,
    };
    expect(await history.ofReceipt(accountId, receiptId)).toMatchObject({
      receipt: { status: "final", paidBy: "transfer" },
      payment,
      idempotencyKey: undefined,
      result: { answer: 42 },
    });
    await instance.pool.query("select treasury_reverse('solana-mainnet', $1)", [
      signatureFrom(deposit.reference),
    ]);
    expect(await history.ofReceipt(accountId, receiptId)).toMatchObject({
      receipt: { status: "reversed" },
      payment: { ...payment, reversed: true },
    });
  });
});
