import type { Pool } from "pg";
import { AFTER_ALL_ENTRIES } from "../database/entry-ids.ts";
import type { AccountMonth } from "./account-months.ts";
import { merged, type ArchivedRows, type WantedRows } from "./archived-rows.ts";
import { queryBeside, type LoadedRows } from "./beside-tables.ts";

/** What an entry says of a receipt that may be archived. */
interface EntryColumns {
  kind: string;
  /** Of a refund: the run. */
  ref: Buffer;
  receipt_id: string | null;
}

/**
 * Runs a statement on the entries of an account, beside the archived receipts that are wanted and those of
 * the refunds that it returns.
 */
export async function entriesBeside<Row extends EntryColumns>(
  client: Pick<Pool, "query">,
  query: { readonly text: string; readonly values: unknown[] },
  {
    archived,
    account,
    months,
    wanted,
  }: {
    readonly archived: ArchivedRows;
    readonly account: string;
    readonly months: readonly AccountMonth[];
    readonly wanted: Omit<WantedRows, "table">;
  },
): Promise<Row[]> {
  const loaded = await archived.load(account, months, { table: "receipt", ...wanted });
  const rows = await queryBeside<Row>(client, query, loaded);
  const refunded = rows.filter(({ kind, receipt_id: receipt }) => kind === "refund" && receipt === null);
  if (refunded.length === 0) return rows;
  const runs = refunded.map(({ ref }) =>
    ref.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
  );
  const others: LoadedRows = await archived.runs(account, months, runs);
  return queryBeside<Row>(client, query, merged([loaded, others]));
}

/** What the archived receipts of an account from an id on have charged, micro-USD. */
export async function archivedCharges(
  archived: ArchivedRows,
  account: string,
  months: readonly AccountMonth[],
  from: string,
): Promise<bigint> {
  let sum = 0n;
  for (const month of months) {
    if (month.first !== null && month.first >= from) sum += BigInt(month.charged);
    else {
      const wanted = { table: "receipt", from, to: AFTER_ALL_ENTRIES } as const;
      for await (const { receipts } of archived.all(account, [month], wanted))
        for (const row of receipts) sum += BigInt(row["debited"] ?? "");
    }
  }
  return sum;
}
