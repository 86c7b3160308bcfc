import { Client } from "pg";
import { expect, it } from "vitest";
import { depositMemo } from "../../src/domain/payments/memo.ts";
import { newId, uuidOf } from "../../src/domain/core/ids.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { query } from "../support/database-server.ts";
import { type Agent } from "../support/world.ts";
import { callAt, expectAccount, PRICE, openGround } from "./calls.ts";
import { closing } from "../support/postgres.ts";

/** An instance killed while it credits a deposit, and its successors. */
const AMOUNT = 2_500_000n;
const soon = { interval: 20 };
const { ground, instances } = await openGround();
const settings = { ...ground.settings, WATCH_INTERVAL_MS: "100" };
const database = closing(new Client({ connectionString: ground.database.url }));
await database.connect();
let crashing = await instances.serve(settings);

/**
 * Creates a deposit.
 * @returns its memo
 */
async function begin({ accountId }: Agent): Promise<string> {
  const depositId = newId("dep", systemClock, systemRandom);
  const deposit = { depositId, accountId, amount: AMOUNT, reference: reference(), createdAt: new Date() };
  await ground.postgres.deposits.create(deposit, { waiting: 1, since: new Date(0) });
  return depositMemo(depositId, "svc");
}

const reference = () => ground.chain.controls.createWallet().publicKey.toBase58();

/** The gateway connection that waits to update a balance during the booking; undefined when none. */
async function booking(): Promise<number | undefined> {
  const waiting = `select pid from pg_stat_activity
      where wait_event_type = 'Lock' and query like '%treasury_record%'`;
  return (await query(ground.database.url, waiting)).rows[0]?.["pid"];
}

it.each([
  ["and what it asked of the database is done all the same", "done"],
  ["and what it asked of the database is undone", "undone"],
] as const)("credits a deposit once when the leader is killed while booking it, %s", async (_name, end) => {
  const agent = await ground.agent();
  const memo = await begin(agent);
  await database.query("begin");
  await database.query("select from account where id = $1 for update", [uuidOf("acct", agent.accountId)]);
  await ground.pay(agent, AMOUNT, memo);
  ground.chain.chain.advance(40);
  await expect.poll(booking, soon).toBeDefined();
  crashing.signal("SIGKILL");
  await crashing.ended;
  if (end === "undone") await database.query("select pg_terminate_backend($1)", [await booking()]);
  await database.query("rollback");
  // Expires its lease.
  await database.query("delete from leadership");
  const after = await instances.serve(settings);
  await expect.poll(() => ground.postgres.ledger.balance(agent.accountId), soon).toBe(AMOUNT);
  // An instance that books later transfers has read the same history.
  await ground.pay(agent, 1n, memo);
  ground.chain.chain.advance(40);
  await expect.poll(() => ground.postgres.ledger.balance(agent.accountId), soon).toBe(AMOUNT + 1n);
  expect((await callAt(after, agent)).body.receipt.paid_by).toBe("balance");
  await expectAccount(after, agent, { balance: AMOUNT + 1n - PRICE, receipts: 1 });
  crashing = after;
});
