import { randomUUID } from "node:crypto";
import type { Pool } from "pg";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { type EventRow, pendingEvent } from "../../../src/postgres/webhooks/webhook-queue.ts";

/** Inserts an endpoint that nothing can be sent to. @returns its UUID */
export async function addEndpoint(
  pool: Pool,
  accountId: string,
  types: readonly string[],
  disabled: string | null = null,
): Promise<string> {
  const id = randomUUID();
  await pool.query(
    `insert into webhook_endpoint (id, account_id, slot, url, types, disabled, key_version, secret)
     select $1, $2, count(*) + 1, 'https://hooks.example/', $3, $4, 1, '\\x00'
     from webhook_endpoint where account_id = $2`,
    [id, uuidFromId("acct", accountId), types, disabled],
  );
  return id;
}

/** Type and data of an account's events, in their order. */
export async function eventsOf(pool: Pool, accountId: string): Promise<{ type: string; data: unknown }[]> {
  const { rows } = await pool.query<EventRow>(
    "select id, type, data, created_at from webhook_event where account_id = $1 order by seq",
    [uuidFromId("acct", accountId)],
  );
  return rows.map(pendingEvent).map(({ type, data }) => ({ type, data }));
}
