import type { Pool } from "pg";
import { ToolgateError } from "../../domain/core/errors.ts";
import { ARCHIVED_SEAL, WRONG_REST, wrongSeals } from "../operations/seals.ts";
import { longQuery } from "./month-tables.ts";

/** What is left of the entries before a seal. */
export interface Rest {
  readonly number: number;
  readonly entries: bigint;
  readonly hash: Buffer;
}

/** The seal that a month and those archived before it reach; $1: the month's last receipt. */
const REACHED = /* sql */ `
  select min(number) as number from audit_seal where audit_bound(up_to) > (
    select max(last_receipt::text)::uuid from (
      select last_receipt from archive_month union all select $1::uuid) month)`;

async function reachedSeal(pool: Pool, lastReceipt: string | null): Promise<number | undefined> {
  const { rows } = await pool.query<{ number: number | null }>(REACHED, [lastReceipt]);
  return rows[0]?.number ?? undefined;
}

/**
 * Compares the entries up to the seal of a month with their seals.
 * @throws ToolgateError INVALID_REQUEST when they are no longer those that were sealed
 */
export async function requireUnchanged(pool: Pool, lastReceipt: string | null): Promise<void> {
  const { rows } = await longQuery<{ changed: bigint }>(
    pool,
    `select count(*) filter (where wrong) as changed from (
       ${wrongSeals(`seal.number <= $1 and seal.number > coalesce((${ARCHIVED_SEAL}), 0)`)}
       union all ${WRONG_REST}) seal`,
    [(await reachedSeal(pool, lastReceipt)) ?? 0],
  );
  if (rows[0]?.changed !== 0n)
    throw new ToolgateError(
      "INVALID_REQUEST",
      "entries have changed since they were sealed: run toolgate audit --full, and read the runbook " +
        "ToolgateAuditViolation",
    );
}

/** Returns the rest without the month of these ids. */
export async function restWithout(
  pool: Pool,
  lastReceipt: string | null,
  [low, high]: readonly [string, string],
): Promise<Rest | undefined> {
  const number = await reachedSeal(pool, lastReceipt);
  if (number === undefined) return undefined;
  const { rows } = await longQuery<{ entries: bigint; hash: Buffer }>(
    pool,
    `select found.entries, found.hash from audit_seal seal
     cross join lateral audit_hash(null, seal.up_to, $2, $3) found where seal.number = $1`,
    [number, low, high],
  );
  return rows[0] && { number, ...rows[0] };
}

/** Stores the hash of what is not archived; nothing if no month is. */
export async function storeRest(pool: Pool): Promise<void> {
  const { rows } = await longQuery<Rest>(
    pool,
    `select seal.number, found.entries, found.hash from (${ARCHIVED_SEAL}) archived
     join audit_seal seal on seal.number = archived.number
     cross join lateral audit_hash(null, seal.up_to) found`,
  );
  const client = await pool.connect();
  try {
    await client.query("begin; delete from audit_rest");
    const [rest] = rows;
    if (rest) await client.query("insert into audit_rest values ($1, $2, $3)", Object.values(rest));
    await client.query("commit");
  } finally {
    client.release();
  }
}
