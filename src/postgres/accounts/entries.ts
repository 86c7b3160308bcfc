import type { Entry, EntryKind, StatementRow } from "../../app/accounts/statements.ts";
import { paymentOfRef, referenceText } from "../database/payment-keys.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { SETTLED_AFTER } from "../database/transfer-range.ts";

/** The two sides of a transfer that appear as entries: credits and debits of an account. */
const CREDITS = /* sql */ `
  select id, kind, ref, note, created_at, amount from transfer
  where kind in ('deposit', 'assignment', 'refund', 'reinstatement', 'adjustment')`;
const DEBITS = /* sql */ `
  select id, kind, ref, note, created_at, -amount as amount from transfer
  where kind in ('charge', 'reversal', 'adjustment')`;

/** Of account $1. */
const IN = /* sql */ `${CREDITS} and credit = $1`;
const OUT = /* sql */ `${DEBITS} and debit = $1`;

/** Before transfer $2, newest first, along the index (see pages.ts). */
const IN_BEFORE = /* sql */ `${CREDITS} and (credit, id) < ($1, $2) and credit >= $1`;
const IN_ORDER = "credit desc, id desc";
const OUT_BEFORE = /* sql */ `${DEBITS} and (debit, id) < ($1, $2) and debit >= $1`;
const OUT_ORDER = "debit desc, id desc";

/** Joins the receipt of a charge or refund. */
const RECEIPT = /* sql */ `
  left join receipt
    on receipt.run_id = case when entry.kind in ('charge', 'refund') then encode(entry.ref, 'hex')::uuid end`;

/** Entries of account $1 before transfer $2, newest first, at most $3. */
export const ENTRIES_PAGE = /* sql */ `
  select entry.*, receipt.id as receipt_id, receipt.tool, entry.created_at < now() - ${SETTLED_AFTER} as
    settled
  from (
    select * from (
      (${IN_BEFORE} order by ${IN_ORDER} limit $3)
      union all
      (${OUT_BEFORE} order by ${OUT_ORDER} limit $3)
    ) side order by id desc limit $3
  ) entry ${RECEIPT}
  order by entry.id desc`;

/** Sum of the entries of account $1 after transfer $2 and before $3. */
export const ENTRIES_SUM = /* sql */ `
  select coalesce(sum(amount), 0)::bigint as amount
  from (${IN} and id > $2 and id < $3 union all ${OUT} and id > $2 and id < $3) entry`;

/** Newest entry of account $1 before transfer $2 that can get no more predecessors. */
export const SETTLED_ENTRY = /* sql */ `
  select id from (
    (${IN_BEFORE} and created_at < now() - ${SETTLED_AFTER} order by ${IN_ORDER} limit 1)
    union all
    (${OUT_BEFORE} and created_at < now() - ${SETTLED_AFTER} order by ${OUT_ORDER} limit 1)
  ) side order by id desc limit 1`;

/** Balance and open holds of account $1; equals the sum of all its entries. */
export const ENTRIES_TOTAL = /* sql */ `
  select account.available, account.low_balance, account.rate_per_minute, account.burst,
    account.account_rate_per_minute, account.account_burst, (
    select coalesce(sum(price), 0)::bigint from run
    where run.account_id = $1 and run.status = 'active'
  ) as held
  from account where account.id = $1`;

/** Sum of the entries of account $1 since timestamp $2, searched from transfer $3 on. */
export const ENTRIES_SINCE = /* sql */ `
  select coalesce(sum(amount), 0)::bigint as amount
  from (${IN} and id >= $3 and created_at >= $2 union all ${OUT} and id >= $3 and created_at >= $2) entry`;

/** After transfer $4 and before $5, dated from $2 to $3, oldest first, along the index. */
const AFTER = (side: string, column: string) => /* sql */ `
  (${side} and (${column}, id) > ($1, $4) and ${column} <= $1 and id < $5
   and created_at >= $2 and created_at < $3 order by ${column}, id limit $6)`;

const asExported = (entries: string) => /* sql */ `
  select entry.*, receipt.id as receipt_id, receipt.run_id, receipt.tool, api_key.name as key_name,
         to_char(entry.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time
  from (${entries}) entry ${RECEIPT}
  left join run on run.id = receipt.run_id
  left join api_key on api_key.id = run.key_id
  order by entry.id`;

/**
 * A statement page: entries of account $1, dated from $2 to $3, after transfer $4 and before $5, at most $6.
 */
export const EXPORT_PAGE = asExported(/* sql */ `
  select * from (${AFTER(CREDITS, "credit")} union all ${AFTER(DEBITS, "debit")}) side order by id limit $6`);

/** The entries of account $1 listed in $2. */
export const EXPORT_NAMED = asExported(/* sql */ `
  ${IN} and id = any ($2::bigint[]) union all ${OUT} and id = any ($2::bigint[])`);

/** Identifiers of the entries of account $1 after transfer $4, dated from $2 to $3. */
export const EXPORT_UNSETTLED = /* sql */ `
  select id from (
    ${IN} and id > $4 and created_at >= $2 and created_at < $3
    union all
    ${OUT} and id > $4 and created_at >= $2 and created_at < $3
  ) entry order by id`;

/** A row of {@link ENTRIES_PAGE}. */
export interface EntryRow {
  id: bigint;
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

/** A row of a statement export. */
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
    transferId: row.id,
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
