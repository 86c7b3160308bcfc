import type { Pool } from "pg";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Month } from "../../domain/core/month.ts";
import { longQuery } from "../database/pool.ts";
import { partitionOf } from "./month-tables.ts";

const CHANGED =
  "have changed since they were sealed: run toolgate audit --full; the runbook is ToolgateAuditViolation";

/**
 * Compares all that is sealed and not archived with its seals.
 * @throws ToolgateError INVALID_REQUEST when it is no longer what was sealed
 */
export function requireUnchanged(pool: Pool): Promise<void> {
  return requireNoneWrong(pool, "entries", []);
}

/**
 * Compares the receipts of an archived month, in tables that are not attached yet, with the seals.
 * @throws ToolgateError INVALID_REQUEST when they are not those that were sealed
 */
export function requireSealed(pool: Pool, month: Month): Promise<void> {
  const receipts = `receipts of ${month}`;
  return requireNoneWrong(pool, receipts, [receipts, partitionOf("receipt", month)]);
}

async function requireNoneWrong(pool: Pool, what: string, [part, table = "receipt"]: string[]) {
  const { rows } = await longQuery<{ changed: bigint }>(
    pool,
    "select count(*) filter (where wrong) as changed from audit_wrong(part => $1, receipts => $2) wrong",
    [part ?? null, table],
  );
  if (rows[0]?.changed === 0n) return;
  throw new ToolgateError("INVALID_REQUEST", [what, CHANGED].join(" "));
}
