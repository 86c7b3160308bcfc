import type { Pool } from "pg";
import type { Entry, EntryKind, StatementRow } from "../../app/accounts/statements.ts";
import { paymentOfRef, referenceText, idFromUuid } from "../database/row-mapping.ts";
import { PAGE_ACCOUNT } from "../database/pages.ts";
import { SETTLED_AFTER, AFTER_ALL_ENTRIES } from "../database/entry-ids.ts";
import { queryBeside, merged } from "../archived/archived-rows.ts";
import type { AccountMonth, LoadedRows, ArchivedRows, WantedRows } from "../archived/archived-rows.ts";

/** What appears as the entries of an account, each with the column that names the account. */
const SIDES = [
  {
    holder: "credit",
    entries: /* sql */ `
      select id, kind::text as kind, ref, note, created_at, amount from transfer
      where kind in ('deposit', 'assignment', 'refund', 'reinstatement', 'adjustment', 'clearing')`,
  },
  {
    holder: "debit",
    entries: /* sql */ `
      select id, kind::text as kind, ref, note, created_at, -amount as amount from transfer
      where kind in ('reversal', 'adjustment', 'clearing')`,
  },
  {
    holder: "account_id",
    entries: /* sql */ `
      select id, 'charge' as kind, uuid_send(run_id) as ref, null as note, created_at, -debited as amount
      from receipt where true`,
  },
] as const;

const unionOf = (sideOf: (side: (typeof SIDES)[number]) => string) => SIDES.map(sideOf).join(" union all ");

/** Entries of account $1 after entry $2 and before $3, or up to it. */
const entriesBetween = (end: "<" | "<=") =>
  unionOf(({ holder, entries }) => `${entries} and ${holder} = $1 and id > $2 and id ${end} $3`);
const BETWEEN = entriesBetween("<");
const UP_TO = entriesBetween("<=");

/** Before entry $2, newest first, along the index of each side (see pages.ts). */
const newestBefore = (limit: string, condition = "true") => {
  const sides = unionOf(
    ({ holder, entries }) => `(${entries} and (${holder}, id) < (${PAGE_ACCOUNT}, $2)
      and ${holder} >= ${PAGE_ACCOUNT} and ${condition}
      order by ${holder} desc, id desc limit ${limit})`,
  );
  return /* sql */ `select * from (${sides}) side order by id desc limit ${limit}`;
};
const PAGE_BEFORE = newestBefore("$3");

const RECEIPT = /* sql */ `
  left join receipt
    on receipt.run_id = case when entry.kind in ('charge', 'refund') then encode(entry.ref, 'hex')::uuid end`;

/** Entries of account $1 before entry $2, newest first, at most $3. */
export const ENTRIES_PAGE = /* sql */ `
  select entry.*, receipt.id as receipt_id, receipt.tool, entry.created_at < now() - ${SETTLED_AFTER} as
    settled
  from (${PAGE_BEFORE}) entry ${RECEIPT}
  order by entry.id desc`;

/** Sum of the entries of account $1 after entry $2 and before $3. */
export const ENTRIES_SUM = /* sql */ `
  select coalesce(sum(amount), 0)::bigint as amount from (${BETWEEN}) entry`;

/** Newest entry of account $1 before entry $2 that can get no more predecessors. */
export const SETTLED_ENTRY = newestBefore("1", `created_at < now() - ${SETTLED_AFTER}`);

/** Balance and open holds of account $1; equals the sum of all its entries. */
export const ENTRIES_TOTAL = /* sql */ `
  select account.available, account.low_balance, account.rate_per_minute, account.burst,
    account.account_rate_per_minute, account.account_burst, (
    select coalesce(sum(price), 0)::bigint from run
    where run.account_id = $1 and run.status = 'active'
  ) as held
  from account_limits account where account.id = $1`;

const asExported = (entries: string) => /* sql */ `
  select entry.*, receipt.id as receipt_id, receipt.run_id, receipt.tool, api_key.name as key_name,
         to_char(entry.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time
  from (${entries}) entry ${RECEIPT}
  left join run on run.id = receipt.run_id
  left join api_key on api_key.id = run.key_id
  order by entry.id`;

/** Oldest first, along the index of each side. */
const PAGE_AFTER = unionOf(
  ({ holder, entries }) => `(${entries} and (${holder}, id) > (${PAGE_ACCOUNT}, $2)
    and ${holder} <= ${PAGE_ACCOUNT} and id <= $3
    order by ${holder}, id limit $4)`,
);

/** A statement page: entries of account $1 after entry $2 and up to $3, oldest first, at most $4. */
export const EXPORT_PAGE = asExported(/* sql */ `select * from (${PAGE_AFTER}) side order by id limit $4`);

/** The entries of account $1 listed in $2. */
export const EXPORT_NAMED = asExported(
  unionOf(({ holder, entries }) => `${entries} and ${holder} = $1 and id = any ($2::uuid[])`),
);

/** Identifiers of the entries of account $1 after entry $2 and up to $3. */
export const EXPORT_UNSETTLED = /* sql */ `
  select id from (${UP_TO}) entry order by id`;

/** A row of {@link ENTRIES_PAGE}. */
export interface EntryRow {
  id: string;
  kind: EntryKind;
  ref: Buffer;
  note: string | null;
  created_at: Date;
  amount: bigint;
  receipt_id: string | null;
  tool: string | null;
  /** Whether no earlier entry can appear any more. */
  settled: boolean;
}

export interface ExportRow extends EntryRow {
  time: string;
  run_id: string | null;
  key_name: string | null;
}

/** Kinds whose reference is a payment. */
const ON_CHAIN: ReadonlySet<EntryKind> = new Set(["deposit", "assignment", "reversal", "reinstatement"]);

/** @param balance sum of all entries up to and including this one, micro-USD */
export function entryOf(row: EntryRow, balance: bigint): Entry {
  return {
    entryId: row.id,
    kind: row.kind,
    amount: row.amount,
    balance,
    createdAt: row.created_at,
    tool: row.tool ?? undefined,
    receiptId: row.receipt_id === null ? undefined : idFromUuid("rcpt", row.receipt_id),
    txSignature: ON_CHAIN.has(row.kind) ? referenceText(paymentOfRef(row.ref)) : undefined,
    note: row.note ?? undefined,
  };
}

/** @param balance sum of all entries up to and including this one, micro-USD */
export function statementRowOf(row: ExportRow, balance: bigint): StatementRow {
  return {
    ...entryOf(row, balance),
    time: row.time,
    runId: row.run_id === null ? undefined : idFromUuid("run", row.run_id),
    keyName: row.key_name ?? undefined,
  };
}

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
