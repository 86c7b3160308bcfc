import { base58 } from "@scure/base";
import type { Entry, EntryKind, StatementRow } from "../app/statement-ports.ts";
import { idFromUuid } from "./row-mapping.ts";
import { SETTLED_AFTER } from "./ledger-time.ts";

/** The two sides of transfers that are entries: what came in and what went out. */
const CREDITS = /* sql */ `
  select id, kind, ref, note, created_at, amount from transfer
  where kind in ('deposit', 'assignment', 'refund', 'reinstatement', 'adjustment')`;
const DEBITS = /* sql */ `
  select id, kind, ref, note, created_at, -amount as amount from transfer
  where kind in ('charge', 'reversal', 'adjustment')`;

/** Those of account $1. */
const IN = /* sql */ `${CREDITS} and credit = $1`;
const OUT = /* sql */ `${DEBITS} and debit = $1`;

/** Those before the transfer $2, the newest first, each along its index, as pages.ts tells. */
const IN_BEFORE = /* sql */ `${CREDITS} and (credit, id) < ($1, $2) and credit >= $1`;
const IN_ORDER = "credit desc, id desc";
const OUT_BEFORE = /* sql */ `${DEBITS} and (debit, id) < ($1, $2) and debit >= $1`;
const OUT_ORDER = "debit desc, id desc";

/** What an entry is told with: its receipt, for a charge or refund. */
const RECEIPT = /* sql */ `
  left join receipt on receipt.run_id = case when entry.kind in ('charge', 'refund') then encode(entry.ref, 'hex')::uuid end`;

/** Entries of account $1 before the transfer $2, newest first, at most $3. */
export const ENTRIES_PAGE = /* sql */ `
  select entry.*, receipt.id as receipt_id, receipt.tool, entry.created_at < now() - ${SETTLED_AFTER} as settled
  from (
    select * from (
      (${IN_BEFORE} order by ${IN_ORDER} limit $3)
      union all
      (${OUT_BEFORE} order by ${OUT_ORDER} limit $3)
    ) side order by id desc limit $3
  ) entry ${RECEIPT}
  order by entry.id desc`;

/** What the entries of account $1 after the transfer $2 and before $3 add up to. */
export const ENTRIES_SUM = /* sql */ `
  select coalesce(sum(amount), 0)::bigint as amount
  from (${IN} and id > $2 and id < $3 union all ${OUT} and id > $2 and id < $3) entry`;

/** The newest entry of account $1 before the transfer $2 below which none can be added. */
export const SETTLED_ENTRY = /* sql */ `
  select id from (
    (${IN_BEFORE} and created_at < now() - ${SETTLED_AFTER} order by ${IN_ORDER} limit 1)
    union all
    (${OUT_BEFORE} and created_at < now() - ${SETTLED_AFTER} order by ${OUT_ORDER} limit 1)
  ) side order by id desc limit 1`;

/** All entries of account $1: its balance and its open holds, of which few are open. */
export const ENTRIES_TOTAL = /* sql */ `
  select account.available, account.low_balance, account.rate_per_minute, account.burst,
    account.account_rate_per_minute, account.account_burst, (
    select coalesce(sum(hold.amount), 0)::bigint from run join hold on hold.run_id = run.id and hold.state = 'open'
    where run.account_id = $1 and run.status = 'active'
  ) as held
  from account where account.id = $1`;

/** What account $1 has had since $2, among the transfers from $3 on. */
export const ENTRIES_SINCE = /* sql */ `
  select coalesce(sum(amount), 0)::bigint as amount
  from (${IN} and id >= $3 and created_at >= $2 union all ${OUT} and id >= $3 and created_at >= $2) entry`;

/** Those after the transfer $4 and before $5, dated from $2 to $3, the oldest first, along their indexes. */
const AFTER = (side: string, column: string) => /* sql */ `
  (${side} and (${column}, id) > ($1, $4) and ${column} <= $1 and id < $5 and created_at >= $2 and created_at < $3
   order by ${column}, id limit $6)`;

const asExported = (entries: string) => /* sql */ `
  select entry.*, receipt.id as receipt_id, receipt.run_id, receipt.tool, api_key.name as key_name,
         to_char(entry.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time
  from (${entries}) entry ${RECEIPT}
  left join run on run.id = receipt.run_id
  left join api_key on api_key.id = run.key_id
  order by entry.id`;

/** A page of a statement: entries of account $1, dated from $2 to $3, after the transfer $4 and before $5, at most $6. */
export const EXPORT_PAGE = asExported(/* sql */ `
  select * from (${AFTER(CREDITS, "credit")} union all ${AFTER(DEBITS, "debit")}) side order by id limit $6`);

/** Those entries of account $1 that $2 names. */
export const EXPORT_NAMED = asExported(/* sql */ `
  ${IN} and id = any ($2::bigint[]) union all ${OUT} and id = any ($2::bigint[])`);

/** Which entries of account $1 there are after the transfer $4, dated from $2 to $3. */
export const EXPORT_UNSETTLED = /* sql */ `
  select id from (
    ${IN} and id > $4 and created_at >= $2 and created_at < $3
    union all
    ${OUT} and id > $4 and created_at >= $2 and created_at < $3
  ) entry order by id`;

/** An entry as {@link ENTRIES_PAGE} yields it. */
export interface EntryRow {
  id: bigint;
  kind: EntryKind;
  ref: Buffer;
  note: string | null;
  created_at: Date;
  amount: bigint;
  receipt_id: string | null;
  tool: string | null;
  /** Whether no entry can be added before it any more. */
  settled: boolean;
}

/** An entry of a statement. */
export interface ExportRow extends EntryRow {
  time: string;
  run_id: string | null;
  key_name: string | null;
}

/** What has a transaction on the chain, by which it is known. */
const ON_CHAIN: ReadonlySet<EntryKind> = new Set(["deposit", "assignment", "reversal", "reinstatement"]);

/** @param balance all entries up to and with this one */
export function entryOf(row: EntryRow, balance: bigint): Entry {
  return {
    transferId: row.id,
    kind: row.kind,
    amount: row.amount,
    balance,
    createdAt: row.created_at,
    tool: row.tool ?? undefined,
    receiptId: row.receipt_id === null ? undefined : idFromUuid("rcpt", row.receipt_id),
    txSignature: ON_CHAIN.has(row.kind) ? base58.encode(row.ref) : undefined,
    note: row.note ?? undefined,
  };
}

/** @param balance all entries up to and with this one */
export function statementRowOf(row: ExportRow, balance: bigint): StatementRow {
  return {
    ...entryOf(row, balance),
    time: row.time,
    runId: row.run_id === null ? undefined : idFromUuid("run", row.run_id),
    keyName: row.key_name ?? undefined,
  };
}
