import type { EntityManager } from "@mikro-orm/postgresql";
import { idFromUuid } from "../database/row-mapping.ts";

/** Usage totals of a key. PostgreSQL returns sums as text. */
interface UsageTotalsRow {
  id: string;
  spent: string;
  calls: string;
}

const USAGE_TOTALS = /* sql */ `
  select key.id, coalesce(charged.spent, 0) as spent, coalesce(charged.calls, 0) as calls
  from api_key key
  left join (
    select key_id, sum(spent) as spent, sum(calls) as calls
    from (
      select run.key_id, sum(receipt.debited) as spent, count(*) as calls
      from receipt join run on run.id = receipt.run_id
      where receipt.account_id = ? group by run.key_id
      union all
      select key_id, charged, receipts from archive_use where account_id = ?
    ) used group by key_id
  ) charged on charged.key_id = key.id
  where key.id = any (?::uuid[])`;

/** Returns what was charged with the keys of an account, by `key_…`. @param ids UUIDs of the keys */
export async function usageTotals(
  em: EntityManager,
  account: string,
  ids: readonly string[],
): Promise<Map<string, UsageTotalsRow>> {
  const totals = await em.execute<UsageTotalsRow[]>(USAGE_TOTALS, [account, account, `{${ids.join(",")}}`]);
  return new Map(totals.map((row) => [idFromUuid("key", row.id), row]));
}
