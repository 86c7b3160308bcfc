import type { MicroUsd } from "../../domain/core/money.ts";
import { NETWORK as SOLANA } from "../../domain/payments/body-proof.ts";
import { openPool } from "../database/pool.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";

/**
 * Returns the balance that the treasury must have on Solana by the ledger, micro-USD: received, not withdrawn
 * and not reversed. Payments on other networks are held elsewhere.
 */
export async function expectedTreasuryBalance(databaseUrl: string): Promise<MicroUsd> {
  const pool = openPool(databaseUrl, { max: 1, applicationName: "toolgate audit" });
  try {
    const { rows } = await pool.query<{ debt: string }>(
      `select (coalesce(sum(case when debit = $1 then amount else -amount end), 0)
         - (select coalesce(sum(amount), 0) from payment where network <> $2 and not reversed))::text as debt
       from transfer where $1 in (credit, debit)`,
      [SYSTEM_ACCOUNTS.treasury, SOLANA],
    );
    return BigInt(rows[0]?.debt ?? "0");
  } finally {
    await pool.end();
  }
}
