import { expect, it } from "vitest";
import { auditFleet } from "../../../src/app/cells/fleet.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { PostgresCellReports } from "../../../src/postgres/cells/open-cells.ts";
import { depositOf, PRICE } from "../fixture.ts";
import { customer, move, openCell, type TestCell } from "./cell-fixture.ts";

const [two, three] = await Promise.all([openCell(2), openCell(3)]);
const { accountId } = await customer(two, 5n * PRICE);
await customer(three, PRICE);
await move(two, three, accountId);

const reports = (cell: TestCell) => new PostgresCellReports(cell.pool);
const violated = async (now = Date.now()) => {
  const cells = [two, three].map((cell) => ({ cell: cell.number, reports: reports(cell) }));
  const findings = await auditFleet(cells, now);
  return findings.filter(({ violations }) => violations > 0n).map(({ name }) => name);
};

/** Runs a check with a change of one cell that only a superuser can make. */
async function changed<Result>(cell: TestCell, sql: string, check: () => Promise<Result>): Promise<Result> {
  await cell.pool.query(`create table kept_moves as table account_move; create table kept_transfers as
    select * from transfer where kind = 'clearing'; create table kept_accounts as table account;
    alter table transfer disable trigger append_only; ${sql}`);
  try {
    return await check();
  } finally {
    await cell.pool.query(`delete from account_move; insert into account_move table kept_moves;
      delete from transfer where kind = 'clearing'; insert into transfer table kept_transfers;
      update account set moved_to = kept.moved_to from kept_accounts kept where kept.id = account.id;
      drop table kept_moves, kept_transfers, kept_accounts;
      alter table transfer enable trigger append_only`);
  }
}

it("the audit of the fleet finds no violation after a move", async () => {
  expect(await violated()).toEqual([]);
});

it("the audit of the fleet finds a move booked twice, with another amount, or in one cell only", async () => {
  const more = "update transfer set amount = amount + 1 where kind = 'clearing'";
  expect(await changed(three, more, () => violated())).toEqual(["moves", "clearing"]);
  const never = "delete from transfer where kind = 'clearing'";
  expect(await changed(three, never, () => violated())).toEqual(["moves", "clearing"]);
  const twice = `insert into transfer (debit, credit, amount, kind, ref)
    select debit, credit, amount, kind, '\\x01' from transfer where kind = 'clearing'`;
  const lone = `${twice}; insert into account_move select gen_random_uuid(), direction, account_id,
    other_cell, other_account, amount, rest from account_move`;
  expect(await changed(three, lone, () => violated())).toContain("moves");
  expect(await changed(two, "delete from account_move", () => violated())).toEqual(["moves", "clearing"]);
});

it("the audit of the fleet lets a move be under way for a minute", async () => {
  const underWay = "delete from account_move; delete from transfer where kind = 'clearing'";
  expect(await changed(three, underWay, () => violated())).toEqual([]);
  expect(await changed(three, underWay, () => violated(Date.now() + 120_000))).toEqual(["moves"]);
});

it("the audit of the fleet finds an account that is in two cells", async () => {
  const both = `update account set moved_to = null where id = '${uuidOf("acct", accountId)}'`;
  expect(await changed(two, both, () => violated())).toEqual(["homes"]);
});

it("the status of a cell has its accounts, what it owes and what others owe it", async () => {
  const [left, arrived] = [await reports(two).figures(), await reports(three).figures()];
  expect(left).toMatchObject({ accounts: 0, moved: 1, unfinished: 0, liabilities: 0n, clearing: 5n * PRICE });
  expect(arrived).toMatchObject({ accounts: 2, moved: 0, liabilities: 6n * PRICE, clearing: -5n * PRICE });
  expect(left.schema).toBe(arrived.schema);
  await two.ledger.credit(accountId, depositOf());
  expect(await reports(two).figures()).toMatchObject({ unfinished: 1 });
});
