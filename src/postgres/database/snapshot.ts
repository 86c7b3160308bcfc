import type { Pool, PoolClient } from "pg";
import { RETRY_MS, withRetry } from "./retry.ts";

/**
 * The locks precede the snapshot: no month leaves the tables later, where the snapshot would not see that it
 * is archived.
 */
export const BEGIN_SNAPSHOT =
  "begin isolation level repeatable read read only; lock table run, receipt in access share mode";

/**
 * Runs several reads on one snapshot, without locks.
 * @throws ToolgateError UNAVAILABLE when the database is unreachable; any error of `read`
 */
export async function inSnapshot<Result>(
  pool: Pool,
  read: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return withRetry(RETRY_MS, () => snapshot(pool, read));
}

async function snapshot<Result>(pool: Pool, read: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let broken = true;
  try {
    await client.query(BEGIN_SNAPSHOT);
    const result = await read(client);
    await client.query("commit");
    broken = false;
    return result;
  } catch (error) {
    broken = await client.query("rollback").then(
      () => false,
      () => true,
    );
    throw error;
  } finally {
    client.release(broken);
  }
}
