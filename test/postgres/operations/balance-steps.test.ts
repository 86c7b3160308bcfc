import { expect, it } from "vitest";
import { audited } from "../../../src/postgres/operations/audit.ts";
import { PostgresBalanceSteps } from "../../../src/postgres/operations/balance-steps.ts";
import { recordAct } from "../../support/operator-acts.ts";
import { expectCleanAudit, inTransaction, openLedger, PRICE } from "../fixture.ts";

const { one } = await openLedger();
const steps = new PostgresBalanceSteps(one.pool);

async function changeByHand(account: string, by: number): Promise<void> {
  const values = [account.slice("acct_".length), by];
  await one.pool.query("update account set available = available + $2, seq = seq + 1 where id = $1", values);
}

/** The invariants that the audit of all history finds violated, each with its count. */
async function violated() {
  const { findings } = await inTransaction(one.pool, (client) => audited(client, { whole: true }));
  return findings.filter(({ violations }) => violations > 0n).map((line) => [line.name, line.violations]);
}

it("finds a change by hand for good, until an operator explains it", async () => {
  const [account, other] = [await one.account(9n * PRICE), await one.account(9n * PRICE)];
  await one.buy(account);
  await changeByHand(account, 1);
  await one.buy(account);
  expect(await violated()).toEqual([
    ["balances", 1n],
    ["balance_steps", 1n],
  ]);
  await changeByHand(account, -1);
  expect(await violated()).toEqual([["balance_steps", 2n]]);
  const gaps = await steps.unexplained(undefined);
  expect(gaps).toEqual(["3", "5"].map((number) => ({ accountId: account, number })));
  expect(await steps.unexplained(account)).toEqual(gaps);
  expect(await steps.unexplained(other)).toEqual([]);

  await recordAct(one.pool, "balance.explain", other, "3");
  await recordAct(one.pool, "balance.explain", account, "4");
  expect(await steps.unexplained(account)).toEqual(gaps);
  for (const { number } of gaps) await recordAct(one.pool, "balance.explain", account, number);
  await expectCleanAudit(one.pool);
  // What follows the last gap is explained with it.
  await one.buy(account);
  await expectCleanAudit(one.pool);
  await changeByHand(account, 1);
  expect(await steps.unexplained(account)).toEqual([{ accountId: account, number: "7" }]);
  await changeByHand(account, -1);
  await recordAct(one.pool, "balance.explain", account, "8");
  await expectCleanAudit(one.pool);
});
