import type { Pool } from "pg";
import { renamedReceipts } from "../dated-entries.ts";

/** Dates what happened in the last quarter of an hour back. */
export async function ageEntries(pool: Pool, minutes: number): Promise<void> {
  const back = `interval '${minutes} minutes'`;
  const lately = "> now() - interval '15 minutes'";
  await tamperWith(
    pool,
    `
    update transfer set id = ledger_id(created_at - ${back}), created_at = created_at - ${back}
    where created_at ${lately};
    ${renamedReceipts(`
      update receipt set id = ledger_id(receipt.created_at - ${back}),
        created_at = receipt.created_at - ${back}
      from receipt before where before.run_id = receipt.run_id and receipt.created_at ${lately}
      returning before.id as old, receipt.id`)};
    update account set created_at = created_at - ${back} where created_at ${lately};
    update treasury_movement set created_at = created_at - ${back} where created_at ${lately};
    update payment set created_at = created_at - ${back} where created_at ${lately};
    update operator_action set at = at - ${back} where at ${lately};
    update config_version set applied_at = applied_at - ${back} where applied_at ${lately};
    update run set started_at = started_at - ${back}, ended_at = ended_at - ${back}
    where started_at ${lately}`,
  );
}

/** Changes rows as only the tables' owner can. */
export async function tamperWith(pool: Pool, sql: string): Promise<void> {
  await pool.query(`begin; set local session_replication_role = replica; ${sql}; commit`);
}
