import type { ClientBase, Pool } from "pg";
import type { RestoreMark, Restores } from "../../app/operations/restores.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { identityOf } from "./identity.ts";
import { idFromUuid } from "./row-mapping.ts";

/**
 * Recovery to a moment leaves its target in the settings, which a standby that takes over does not have; a
 * restore to the end of the archive looks like a failover, so it has to set toolgate.restored. A dump carries
 * the identifier of the cluster that it was taken from ($1: this one's, empty if it has none).
 */
const MARK = `
  with found as (
    select left(concat_ws(', ', nullif(current_setting('toolgate.restored', true), ''), (
      select string_agg(name || ' ' || setting, ', ' order by name) from pg_settings
      where name in ('recovery_target', 'recovery_target_lsn', 'recovery_target_name',
        'recovery_target_time', 'recovery_target_xid') and setting <> ''
    ), (
      select 'cluster ' || $1 from schema_version where cluster not in ('', $1) and $1 <> '' limit 1
    )), 200) as mark
  )
  select mark, (
    select max(at) from operator_action where action = 'database.reconcile' and target = mark
  ) as "reconciledAt"
  from found where mark <> ''`;

/** Returns what a database says about its restore. @throws DatabaseError without a schema */
export async function restoreMark(database: Pool | ClientBase): Promise<RestoreMark | undefined> {
  const { cluster } = await identityOf(database);
  const { rows } = await database.query<RestoreMark>(MARK, [cluster]);
  return rows[0];
}

/** Restores on PostgreSQL. */
export class PostgresRestores implements Restores {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  mark(): Promise<RestoreMark | undefined> {
    return restoreMark(this.#pool);
  }

  missingActions(actionIds: readonly string[]): Promise<string[]> {
    const text = "select id from unnest($1::uuid[]) id except select id from operator_action";
    return this.#missing("act", actionIds, text);
  }

  missingReceipts(receiptIds: readonly string[]): Promise<string[]> {
    const text = `select id from unnest($1::uuid[]) id
        where not exists (select from receipt where receipt.id = id.id)
        and not exists (select from archive_month where id.id between first_receipt and last_receipt)`;
    return this.#missing("rcpt", receiptIds, text);
  }

  async #missing(kind: "act" | "rcpt", ids: readonly string[], text: string): Promise<string[]> {
    const uuids = ids.flatMap((id) => uuidOf(kind, id) ?? []);
    const { rows } = await this.#pool.query<{ id: string }>(text, [uuids]);
    return rows.map(({ id }) => idFromUuid(kind, id));
  }
}
