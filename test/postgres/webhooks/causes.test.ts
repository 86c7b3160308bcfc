import { expect, it } from "vitest";
import { ACCOUNT_EVENTS, OPERATOR_EVENTS } from "../../../src/domain/webhooks/webhook.ts";
import { OPERATORS } from "../../../src/app/webhooks/webhook-endpoints.ts";
import { PostgresStatements } from "../../../src/postgres/accounts/statement.ts";
import { PostgresSessions } from "../../../src/postgres/accounts/sessions.ts";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { PostgresEvents } from "../../../src/postgres/webhooks/index.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import {
  callOf,
  chargeOf,
  completed,
  depositOf,
  endRun,
  failed,
  newRunId,
  paymentOf,
  PRICE,
  openLedger,
  inTransaction,
} from "../fixture.ts";
import { movementOf, movementOfDeposit, watchedAccount } from "../treasury/treasury-fixture.ts";
import { addEndpoint, eventsOf } from "./webhook-fixture.ts";
import { randomUUID } from "node:crypto";

const { one } = await openLedger();

/** An account whose endpoint wants every event; those of its making are not listed. */
async function notifiedAccount(balance: bigint, types: readonly string[] = ACCOUNT_EVENTS) {
  const account = await one.account(balance);
  await addEndpoint(one.pool, account, types);
  return account;
}

const events = (account: string) => eventsOf(one.pool, account);
/** An event of the account. */
const eventOf = (type: string, account: string, data: object) => ({
  type,
  data: { account_id: account, ...data },
});

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
  const low = eventOf("balance.low", account, {
    balance_usdc_microusd: Number(PRICE),
    low_balance_usdc_microusd: Number(2n * PRICE),
  });
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

it("reports deposits, but no payment that buys its call at once", async () => {
  const tokenAccount = await watchedAccount(one);
  const account = await notifiedAccount(0n);
  const deposit = await credit(account, PRICE);
  const paid = depositOf();
  await one.authorize(account, { runId: newRunId(), payment: paymentOf(paid) });
  const seen = depositOf({ amount: 2n * PRICE });
  await one.treasury.record(tokenAccount, movementOfDeposit(seen, account));
  expect(await events(account)).toEqual([
    eventOf("deposit.credited", account, {
      amount_usdc_microusd: Number(PRICE),
      tx_signature: deposit.reference,
    }),
    eventOf("deposit.credited", account, {
      amount_usdc_microusd: Number(2n * PRICE),
      tx_signature: seen.reference,
    }),
  ]);
});

it("reports refunds and reversals once", async () => {
  const account = await notifiedAccount(PRICE, ["receipt.refunded", "payment.reversed"]);
  const balanceCall = await buy(account);
  const receiptId = await chargeOf(one.ledger, completed(balanceCall));
  await one.refunds.refund({ receiptId, reason: "wrong answer" });
  await one.refunds.refund({ receiptId, reason: "again" });
  const paid = depositOf({ finalized: false });
  const { receiptId: paidReceipt } = await one.buy(account, { payment: paymentOf(paid) });
  await one.treasury.reverse(paid);
  await one.treasury.reverse(paid);
  expect(await events(account)).toEqual([
    eventOf("receipt.refunded", account, {
      receipt_id: receiptId,
      run_id: balanceCall.runId,
      tool: "vram_estimate",
      refunded_usdc_microusd: Number(PRICE),
      reason: "wrong answer",
    }),
    eventOf("payment.reversed", account, {
      amount_usdc_microusd: Number(PRICE),
      tx_signature: paid.reference,
      receipt_ids: [paidReceipt],
    }),
  ]);
});

it("reports sign-ins", async () => {
  const account = await notifiedAccount(0n);
  const sessions = new PostgresSessions({ pool: one.pool, clock: systemClock, random: systemRandom });
  const { session } = await sessions.create({ accountId: account, address: "203.0.113.7", userAgent: "x" });
  expect(await events(account)).toEqual([
    eventOf("session.created", account, {
      session_id: session.sessionId,
      address: "203.0.113.7",
      user_agent: "x",
    }),
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
  await one.treasury.record(tokenAccount, movement);
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

const newAccount = () => `acct_${randomUUID().replaceAll("-", "")}`;
const endpoint = (account: string, types: string[], disabled?: string) =>
  addEndpoint(one.pool, account, types, disabled);
const ADD_LOW = "select event_add($1, 'balance.low', '{}')";
const add = (account: string, type: string, data: object, once?: string) =>
  one.pool.query("select event_add($1, $2, $3, $4)", [uuidFromId("acct", account), type, data, once]);

it("writes an event once, for each enabled endpoint that wants its type", async () => {
  const account = newAccount();
  const wanting = await endpoint(account, ["budget.exhausted", "balance.low"]);
  await endpoint(account, ["session.created"]);
  await endpoint(account, ["budget.exhausted"], "");
  await endpoint(newAccount(), ["budget.exhausted"]);
  await add(account, "budget.exhausted", { key_id: "key_1" });
  await add(account, "deposit.credited", {});
  expect(await events(account)).toEqual([{ type: "budget.exhausted", data: { key_id: "key_1" } }]);
  const { rows } = await one.pool.query(
    `select endpoint_id from webhook_delivery join webhook_event event on event.id = event_id
     where account_id = $1`,
    [uuidFromId("acct", account)],
  );
  expect(rows).toEqual([{ endpoint_id: wanting }]);
});

it("writes an event with the same once no second time", async () => {
  const account = newAccount();
  await endpoint(account, ["key.expiring"]);
  await add(account, "key.expiring", { days: 7 }, "key 7");
  await add(account, "key.expiring", { days: 7 }, "key 7");
  expect(await events(account)).toEqual([{ type: "key.expiring", data: { days: 7 } }]);
});

it("leaves no event of a transaction that rolled back", async () => {
  const account = newAccount();
  await endpoint(account, ["balance.low"]);
  await inTransaction(one.pool, (client) => client.query(ADD_LOW, [uuidFromId("acct", account)]));
  expect(await events(account)).toEqual([]);
});

it("waits for no other transaction", async () => {
  const account = newAccount();
  const id = await endpoint(account, ["balance.low"]);
  await inTransaction(one.pool, async (client) => {
    await client.query(ADD_LOW, [uuidFromId("acct", account)]);
    await client.query("select from webhook_endpoint where id = $1 for update", [id]);
    await add(account, "balance.low", {});
    await client.query("commit");
  });
  expect(await events(account)).toHaveLength(2);
});
