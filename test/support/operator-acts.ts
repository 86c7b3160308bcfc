import { withOperatorLog } from "../../src/cli/operator-log.ts";
import type { Postgres } from "../../src/postgres/index.ts";
import type { Pool } from "pg";

/** Returns the ports; what they adjust, refund and assign is an operator's action, as the audit expects. */
export function withOperatorActs(postgres: Postgres): Postgres {
  const logged = withOperatorLog(postgres, { info: () => {}, warn: () => {}, error: () => {} });
  const { accounts, refunds, suspense } = logged;
  return { ...postgres, accounts: { ...postgres.accounts, adjust: accounts.adjust }, refunds, suspense };
}

/** Stores an operator's action; `once` is its idempotency key. */
export async function recordAct(pool: Pool, action: string, target: string, once = ""): Promise<void> {
  await pool.query(
    `insert into operator_action (id, actor, action, target, details, once)
     values (ledger_id(), 'test', $1, $2, '{}', $3)`,
    [action, target, once],
  );
}

/** Adds to the balance of an account (a UUID in hex) as an operator does. */
export async function adjustBalance(
  pool: Pool,
  account: string,
  { change, key, note = "test" }: { change: bigint; key: string; note?: string },
): Promise<void> {
  await recordAct(pool, "account.adjust", `acct_${account}`, `${change} ${key}`);
  await pool.query("select ledger_adjust($1, $2, sha256(convert_to($3, 'UTF8')), $4)", [
    account,
    change,
    `${account}:${key}`,
    note,
  ]);
}

/** Refunds the call of a run (a UUID), if it was charged, as an operator does. */
export async function refundRun(pool: Pool, run: string | undefined): Promise<void> {
  await pool.query(
    `insert into operator_action (id, actor, action, target, details, once)
     select ledger_id(), 'test', 'receipt.refund', 'rcpt_' || encode(uuid_send(id), 'hex'), '{}', ''
     from receipt where run_id = $1`,
    [run],
  );
  await pool.query("select ledger_refund(receipt.id, 'r') from receipt where run_id = $1", [run]);
}
