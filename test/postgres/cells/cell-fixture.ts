import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { type AccountMoves, moveAccount, type MovedAccount } from "../../../src/app/cells/account-moves.ts";
import { cellOf, uuidOf } from "../../../src/domain/core/ids.ts";
import { DEFAULT_SCOPES } from "../../../src/domain/accounts/scope.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { SYSTEM_ACCOUNTS } from "../../../src/postgres/database/system-accounts.ts";
import { openMoves } from "../../../src/postgres/cells/open-cells.ts";
import { type Postgres } from "../../../src/postgres/index.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { closing } from "../../support/postgres.ts";
import { expectCleanAudit, type Instance, silent, openLedger } from "../fixture.ts";
import { openStarted } from "../open-postgres.ts";

/** A cell without a gateway, closed after the tests of the file. */
export interface TestCell extends Instance {
  readonly number: number;
  readonly moves: AccountMoves;
  readonly postgres: Postgres;
  /** What it logged. */
  readonly warnings: object[];
}

export async function openCell(number: number): Promise<TestCell> {
  const { database, one } = await openLedger();
  // Operators' commands have the rights of a gateway.
  const pool = closing(openPool(database.servingUrl, { max: 4, applicationName: "test cells" }));
  const warnings: object[] = [];
  const world = { clock: systemClock, random: systemRandom, log: silent };
  const cell = cellOf(number, (name, cell) => void warnings.push({ name, cell }));
  const postgres = closing(await openStarted(database.url, { cell }));
  return {
    ...one,
    number,
    moves: openMoves(pool, number, world),
    postgres,
    warnings,
  };
}

/** Moves an account. @param among what stands between the command and the two cells */
export function move(
  from: TestCell,
  to: TestCell,
  accountId: string,
  among: (moves: AccountMoves) => AccountMoves = (moves) => moves,
  mayWait = () => true,
): Promise<MovedAccount | undefined> {
  const deps = {
    from: among(from.moves),
    to: among(to.moves),
    newReference: () => randomUUID(),
    pause: () => setImmediate(),
    mayWait,
  };
  return moveAccount(deps, accountId);
}

/** An account with that balance and a key. */
export async function customer(cell: TestCell, balance: bigint, limits: object = {}) {
  const accountId = await cell.account(balance);
  const { secret, key } = await cell.postgres.apiKeys.create({
    accountId,
    name: "key",
    scopes: DEFAULT_SCOPES,
    ...limits,
  });
  return { accountId, secret, keyId: key.keyId };
}

export async function balanceOf(cell: TestCell, accountId: string): Promise<bigint> {
  const text = "select available from account where id = $1";
  const { rows } = await cell.pool.query<{ available: bigint }>(text, [uuidOf("acct", accountId)]);
  return rows[0]?.available ?? -1n;
}

/** Balance of the clearing account. */
export async function clearingOf({ pool }: TestCell): Promise<bigint> {
  const { rows } = await pool.query<{ amount: bigint }>(
    `select coalesce(sum(case when credit = $1 then amount else -amount end), 0)::bigint as amount
     from transfer where kind = 'clearing'`,
    [SYSTEM_ACCOUNTS.clearing],
  );
  return rows[0]?.amount ?? 0n;
}

/** Both ledgers are clean, and clearing adds up to nothing. */
export async function expectClean(...cells: readonly TestCell[]): Promise<void> {
  for (const cell of cells) await expectCleanAudit(cell.pool);
  const sums = await Promise.all(cells.map(clearingOf));
  expect(sums.reduce((sum, one) => sum + one, 0n)).toBe(0n);
}
