import type { Pool } from "pg";
import { queryWithRetry } from "../database/retry.ts";

/** An archived month of one account. Ids are UUIDs. */
export interface AccountMonth {
  readonly month: string;
  readonly manifest: string;
  /** Bounds of the ids of its runs: from the first, below the second. */
  readonly low: string;
  readonly high: string;
  /** Its first and last receipt; null: it has none. */
  readonly first: string | null;
  readonly last: string | null;
  /** Micro-USD. */
  readonly charged: string;
}

/** The archived months of account $1 as a JSON list, newest first; null: there is none. */
const ACCOUNT_MONTHS = /* sql */ `(
  select json_agg(json_build_object('month', to_char(month, 'YYYY-MM'),
    'manifest', encode(archive_month.manifest, 'hex'), 'low', archive_month.low, 'high', archive_month.high,
    'first', used.first, 'last', used.last, 'charged', used.charged::text) order by month desc)
  from (
    select month, min(first_receipt::text) as first, max(last_receipt::text) as last,
      sum(charged) as charged
    from archive_use where account_id = $1 group by month
  ) used join archive_month using (month))`;

/** Adds the archived months of account $1 to each row of a page, and a row of them to an empty page. */
export function withMonths(page: string): string {
  return /* sql */ `
    select archived.months as archived_months, page.*
    from (select ${ACCOUNT_MONTHS} as months) archived left join (${page}) page on true`;
}

/** A row of {@link withMonths}. */
export interface WithMonths {
  archived_months: readonly AccountMonth[] | null;
}

/** The archived months of an account (a UUID), newest first. */
export async function accountMonths(
  client: Pick<Pool, "query">,
  account: string,
): Promise<readonly AccountMonth[]> {
  const text = `select ${ACCOUNT_MONTHS} as archived_months`;
  const { rows } = await client.query<WithMonths>({ name: "archived-months", text, values: [account] });
  return rows[0]?.archived_months ?? [];
}

/** The archived month whose receipts are of the time of this one; undefined: there is none. */
export async function archivedMonthOf(pool: Pool, receipt: string): Promise<string | undefined> {
  const rows = await queryWithRetry<{ month: string }>(pool, {
    name: "archived-receipt",
    text: `select to_char(month, 'YYYY-MM') as month from archive_month
      where $1 between first_receipt and last_receipt order by 1 limit 1`,
    values: [receipt],
  });
  return rows[0]?.month;
}

/** A UUID as PostgreSQL writes it, from 32 hex digits. */
export function dashed(hex: string): string {
  return hex.replaceAll("-", "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
