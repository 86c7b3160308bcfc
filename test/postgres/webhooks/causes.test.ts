import { afterAll, beforeAll, expect, it } from "vitest";
import { ACCOUNT_EVENTS, OPERATOR_EVENTS } from "../../../src/domain/webhooks/event-types.ts";
import { OPERATORS } from "../../../src/app/webhooks/webhook-endpoints.ts";
import { PostgresStatements } from "../../../src/postgres/accounts/statement.ts";
import { PostgresSessions } from "../../../src/postgres/accounts/sessions.ts";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { PostgresEvents } from "../../../src/postgres/webhooks/events.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  chargeOf,
  completed,
  depositOf,
  endRun,
  failed,
  makeAccount,
  newRunId,
  paymentOf,
  PRICE,
} from "../fixture.ts";
import {
  movementOf,
  movementOfDeposit,
  openTreasurer,
  watchedAccount,
  type Treasurer,
} from "../treasury/treasury-fixture.ts";
import { addEndpoint, eventsOf } from "./webhook-fixture.ts";

let database: TestDatabase;
let one: Treasurer;

beforeAll(async () => {
  database = await createTestDatabase();
  one = openTreasurer(database.url);
});
afterAll(async () => {
  await one.close();
  await database.drop();
});

/** An account whose endpoint wants every event; those of its making are not listed. */
async function notifiedAccount(balance: bigint, types: readonly string[] = ACCOUNT_EVENTS) {
  const account = await makeAccount(one.pool, balance);
  await addEndpoint(one.pool, account, types);
  return account;
}

const events = (account: string) => eventsOf(one.pool, account);

async function buy(account: string, price = PRICE) {
  const call = callOf(account, { price });
  expect((await one.ledger.authorize(call)).kind).toBe("started");
  return call;
}

async function credit(account: string, amount: bigint) {
  const deposit = depositOf({ amount });
  await one.ledger.credit(account, deposit);
  return deposit;
}

function setThreshold(account: string, amount: bigint | undefined) {
  return new PostgresStatements(one.pool, { current: none, version: none }).setLowBalance(account, amount);
}

function none(): never {
  throw new Error("not sealed here");
}

it("reports a low balance once, until a credit raises it", async () => {
  const account = await notifiedAccount(3n * PRICE, ["balance.low"]);
  await setThreshold(account, 2n * PRICE);
  const first = await buy(account);
  expect(await events(account)).toEqual([]);
  const second = await buy(account);
  const low = {
    type: "balance.low",
    data: {
      account_id: account,
      balance_usdc_microusd: Number(PRICE),
      low_balance_usdc_microusd: Number(2n * PRICE),
    },
  };
  expect(await events(account)).toEqual([low]);
  // A released hold is no credit.
  await endRun(one.ledger, failed(second));
  await endRun(one.ledger, completed(first));
  await buy(account);
  expect(await events(account)).toEqual([low]);
  await credit(account, PRICE);
  await buy(account);
  expect(await events(account)).toEqual([low, low]);
  await buy(account);
  expect(await events(account)).toHaveLength(2);
});

it("reports no low balance without a threshold, or for one that was low when it was set", async () => {
  const account = await notifiedAccount(2n * PRICE, ["balance.low"]);
  await buy(account);
  await setThreshold(account, 5n * PRICE);
  await buy(account);
  await setThreshold(account, undefined);
  expect(await events(account)).toEqual([]);
});

it("writes nothing of a debit that is rolled back", async () => {
  const account = await notifiedAccount(PRICE, ["balance.low"]);
  await setThreshold(account, PRICE);
  const client = await one.pool.connect();
  await client.query("begin");
  await client.query("select ledger_adjust($1, -1, '\\x01', 'test')", [uuidFromId("acct", account)]);
  await client.query("rollback");
  client.release();
  expect(await events(account)).toEqual([]);
});

it("reports deposits, but no payment that buys its call at once", async () => {
  const tokenAccount = await watchedAccount(one);
  const account = await notifiedAccount(0n);
  const deposit = await credit(account, PRICE);
  const paid = depositOf();
  await one.ledger.authorize(callOf(account, { runId: newRunId(), payment: paymentOf(paid) }));
  const seen = depositOf({ amount: 2n * PRICE });
  await one.books.record(tokenAccount, movementOfDeposit(seen, account));
  expect(await events(account)).toEqual([
    {
      type: "deposit.credited",
      data: {
        account_id: account,
        amount_usdc_microusd: Number(PRICE),
        tx_signature: deposit.reference,
      },
    },
    {
      type: "deposit.credited",
      data: {
        account_id: account,
        amount_usdc_microusd: Number(2n * PRICE),
        tx_signature: seen.reference,
      },
    },
  ]);
});

it("reports refunds and reversals once", async () => {
  const account = await notifiedAccount(PRICE, ["receipt.refunded", "payment.reversed"]);
  const balanceCall = await buy(account);
  const receiptId = await chargeOf(one.ledger, completed(balanceCall));
  await one.refunds.refund({ receiptId, reason: "wrong answer" });
  await one.refunds.refund({ receiptId, reason: "again" });
  const paid = depositOf({ finalized: false });
  const call = callOf(account, { payment: paymentOf(paid) });
  await one.ledger.authorize(call);
  const paidReceipt = await chargeOf(one.ledger, completed(call));
  await one.books.reverse(paid);
  await one.books.reverse(paid);
  expect(await events(account)).toEqual([
    {
      type: "receipt.refunded",
      data: {
        account_id: account,
        receipt_id: receiptId,
        run_id: balanceCall.runId,
        tool: "vram_estimate",
        refunded_usdc_microusd: Number(PRICE),
        reason: "wrong answer",
      },
    },
    {
      type: "payment.reversed",
      data: {
        account_id: account,
        amount_usdc_microusd: Number(PRICE),
        tx_signature: paid.reference,
        receipt_ids: [paidReceipt],
      },
    },
  ]);
});

it("reports sign-ins", async () => {
  const account = await notifiedAccount(0n);
  const sessions = new PostgresSessions({ pool: one.pool, clock: systemClock, random: systemRandom });
  const { session } = await sessions.create({ accountId: account, address: "203.0.113.7", userAgent: "x" });
  expect(await events(account)).toEqual([
    {
      type: "session.created",
      data: {
        account_id: account,
        session_id: session.sessionId,
        address: "203.0.113.7",
        user_agent: "x",
      },
    },
  ]);
});

it("reports a key that expires, a week and a day before", async () => {
  const account = await notifiedAccount(0n);
  const add = async (expires: string) =>
    one.pool.query(
      `insert into api_key (id, account_id, sha256, prefix, name, scopes, expires_at)
       values (gen_random_uuid(), $1, sha256(gen_random_uuid()::text::bytea), 'sk-agent-x', $2::text, '{}',
         now() + $2::text::interval)`,
      [uuidFromId("acct", account), expires],
    );
  await add("6 days");
  await add("8 days");
  await add("-1 days");
  const job = new PostgresEvents(one.pool);
  await job.addExpiringKeys();
  await job.addExpiringKeys();
  expect(await events(account)).toMatchObject([{ type: "key.expiring", data: { name: "6 days" } }]);
  await one.pool.query("update api_key set expires_at = now() + interval '23 hours' where name = '6 days'");
  await job.addExpiringKeys();
  expect(await events(account)).toHaveLength(2);
});

it("reports a transfer in suspense to operators, and its assignment to the account", async () => {
  await addEndpoint(one.pool, OPERATORS, OPERATOR_EVENTS);
  const tokenAccount = await watchedAccount(one);
  const account = await notifiedAccount(0n);
  const movement = movementOf({ memos: "hello", payer: "someone" });
  await one.books.record(tokenAccount, movement);
  expect(await events(OPERATORS)).toEqual([
    {
      type: "suspense.received",
      data: {
        amount_usdc_microusd: Number(PRICE),
        payer: "someone",
        memos: "hello",
        tx_signature: movement.txSignature,
      },
    },
  ]);
  await one.suspense.assign({
    txSignature: movement.txSignature,
    to: { accountId: account },
    reason: "asked",
  });
  expect(await events(account)).toMatchObject([
    { type: "deposit.credited", data: { tx_signature: movement.txSignature } },
  ]);
});

it("reports an audit's violation and a treasury's difference to operators once a day", async () => {
  await addEndpoint(one.pool, OPERATORS, OPERATOR_EVENTS);
  const job = new PostgresEvents(one.pool);
  const before = (await events(OPERATORS)).length;
  for (const about of ["balances", "balances", "holds"])
    await job.addDaily(OPERATORS, "audit.violation", { invariant: about }, about);
  await job.addDaily(OPERATORS, "treasury.difference", { difference_usdc_microusd: -5 }, "-5");
  expect((await events(OPERATORS)).slice(before)).toEqual([
    { type: "audit.violation", data: { invariant: "balances" } },
    { type: "audit.violation", data: { invariant: "holds" } },
    { type: "treasury.difference", data: { difference_usdc_microusd: -5 } },
  ]);
});
