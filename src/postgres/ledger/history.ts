import type { Pool, QueryConfig } from "pg";
import type { CallInfo, ChainPayment, History, Receipts, RunDetails, Runs } from "../../app/calls/history.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { Receipt, CallOutcome, ReceiptStatus } from "../../domain/calls/receipt.ts";
import { accountMonths, dashed, queryBeside, ArchivedRows } from "../archived/archived-rows.ts";
import { OUTCOME, firstRows, PAGE_ACCOUNT, PAGE_BEFORE, SCAN_LIMIT } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { referenceText, idFromUuid, uuidFromId, toReceipt } from "../database/row-mapping.ts";
import type { PaymentColumns, ReceiptRow } from "../database/row-mapping.ts";
import type { Cell } from "../../domain/core/ids.ts";
import { idempotencyKeyOf } from "./claims.ts";
import { RecordList } from "./record-list.ts";

/**
 * Key, claim and payment of run $1 of account $2. The result belongs to this run: its claim may belong to a
 * later one.
 */
const RUN_CONTEXT = /* sql */ `
  select run.key_id, api_key.name as key_name, ${OUTCOME} as outcome, run.claim_key, claim.result,
         payment.network, payment.reference, payment.amount, payment.payer, payment.slot,
           payment.block_time,
           payment.finalized, payment.reversed
  from run
  left join api_key on api_key.id = run.key_id
  left join idempotency claim
    on claim.account_id = run.account_id and claim.key = run.claim_key and claim.run_id = run.id
      and claim.state = 'done'
  left join payment on payment.network = run.network and payment.reference = run.reference
  where run.id = $1 and run.account_id = $2`;

/** Keys and outcomes of the runs $1 of account $2. */
const CALLS = /* sql */ `
  select run.id, run.key_id, api_key.name as key_name, ${OUTCOME} as outcome
  from run left join api_key on api_key.id = run.key_id
  where run.id = any ($1::uuid[]) and run.account_id = $2`;

interface CallRow {
  key_id: string | null;
  key_name: string | null;
  outcome: CallOutcome | null;
}

interface PaymentRow extends PaymentColumns {
  amount: bigint;
  payer: string | null;
  slot: bigint;
  block_time: Date;
  finalized: boolean;
  reversed: boolean;
}

type RunContextRow = (PaymentRow | { reference: null }) &
  CallRow & {
    claim_key: string | null;
    result: JsonObject | null;
  };

/** Details of a run or receipt, on PostgreSQL. */
export class PostgresHistory implements History {
  readonly #pool: Pool;
  readonly #archived: ArchivedRows;
  readonly #receipts: Receipts;
  readonly #runs: Runs;

  constructor(options: { pool: Pool; archived?: ArchivedRows; receipts: Receipts; runs: Runs }) {
    this.#pool = options.pool;
    this.#archived = options.archived ?? new ArchivedRows(undefined);
    this.#receipts = options.receipts;
    this.#runs = options.runs;
  }

  async callsOf(accountId: string, runIds: readonly string[]): Promise<ReadonlyMap<string, CallInfo>> {
    const ids = runIds.map((runId) => dashed(uuidFromId("run", runId)));
    const query = { name: "history-calls", text: CALLS, values: [ids, uuidFromId("acct", accountId)] };
    const rows = await this.#read<CallRow & { id: string }>(query, accountId, ids);
    return new Map(rows.map((row) => [idFromUuid("run", row.id), callOf(row)]));
  }

  async ofRun(accountId: string, runId: string): Promise<RunDetails | undefined> {
    const run = await this.#runs.find(accountId, runId);
    if (!run) return undefined;
    const receipt =
      run.receiptId === undefined ? undefined : await this.#receipts.find(accountId, run.receiptId);
    const id = uuidFromId("run", runId);
    const query = { name: "history-beside", text: RUN_CONTEXT, values: [id, uuidFromId("acct", accountId)] };
    const [row] = await this.#read<RunContextRow>(query, accountId, [dashed(id)]);
    return {
      run,
      receipt,
      ...callOf(row),
      idempotencyKey: row && idempotencyKeyOf(row.claim_key),
      result: row?.result ?? undefined,
      payment: row && paymentOf(row),
    };
  }

  /** Reads one row for each run, also of those that are archived. */
  async #read<Row extends object>(
    query: QueryConfig,
    accountId: string,
    runIds: readonly string[],
  ): Promise<Row[]> {
    const rows = await queryWithRetry<Row>(this.#pool, query);
    if (rows.length === runIds.length) return rows;
    const account = uuidFromId("acct", accountId);
    const months = await accountMonths(this.#pool, account);
    if (months.length === 0) return rows;
    const { text, values } = query;
    const loaded = await this.#archived.runs(account, months, runIds);
    return queryBeside<Row>(this.#pool, { text, values: values ?? [] }, loaded);
  }

  async ofReceipt(
    accountId: string,
    receiptId: string,
  ): Promise<(RunDetails & { receipt: Receipt }) | undefined> {
    const receipt = await this.#receipts.find(accountId, receiptId);
    const details = receipt && (await this.ofRun(accountId, receipt.runId));
    return details && { ...details, receipt };
  }
}

function callOf(row: CallRow | undefined): CallInfo {
  return {
    key: row?.key_id ? { keyId: idFromUuid("key", row.key_id), name: row.key_name ?? "" } : undefined,
    outcome: row?.outcome ?? undefined,
  };
}

function paymentOf(row: RunContextRow): ChainPayment | undefined {
  if (row.reference === null) return undefined;
  return {
    txSignature: referenceText(row),
    amount: row.amount,
    payer: row.payer ?? undefined,
    slot: row.slot,
    blockTime: row.block_time,
    finalized: row.finalized,
    reversed: row.reversed,
  };
}

/** Conditions per status. The rare statuses start from the transfer that caused them. */
const PICKS: Record<ReceiptStatus, string> = {
  // As PostgreSQL expects it: nearly all are.
  final: "status not in ('refunded', 'reversed')",
  refunded: `status = 'refunded' and run_id = any (array(
               select encode(ref, 'hex')::uuid from transfer where kind = 'refund' and credit = $1))`,
  reversed: `status = 'reversed' and run_id = any (array(
               select paid.run_id from transfer cross join lateral payment_of(transfer.ref) of
               cross join lateral (
                 select run_id from receipt where network = of.network and reference = of.reference offset 0
               ) paid
               where transfer.kind = 'reversal' and transfer.debit = $1))`,
};

/** Conditions along the index (see pages.ts): before receipt $2; among identifiers from $8 to $9. */
const BEFORE = `(account_id, id) < (${PAGE_ACCOUNT}, $2) and account_id >= ${PAGE_ACCOUNT}`;
const AMONG =
  `(account_id, id) <= (${PAGE_ACCOUNT}, least($2::uuid, $9::uuid)) ` +
  `and (account_id, id) >= (${PAGE_ACCOUNT}, $8) and id < ${PAGE_BEFORE}`;
const NEWEST = "account_id desc, id desc";

const FINAL =
  "and exists (select from issued_receipt issued where issued.id = looked_at.id and issued.status = 'final')";

const LAST_LOOKED_AT = SCAN_LIMIT - 1;

/** A page of account $1, before receipt $2, at most $3. Each status has its own statement and plan. */
export function receiptsPage(status: ReceiptStatus | undefined): string {
  const picked = status === undefined ? "" : `and ${PICKS[status]}`;
  return firstRows(`select * from issued_receipt where ${BEFORE} ${picked} order by ${NEWEST}`);
}

/**
 * A filtered page of account $1: before receipt $2, at most $3, tool $4, key $5, created from $6 to $7, with
 * identifiers from $8 to $9, outcome $10, model $11. Scans at most {@link SCAN_LIMIT} rows; the first row
 * says where it stopped.
 */
export function filteredReceiptsPage(status: ReceiptStatus | undefined): string {
  // Nearly all receipts are final, so that status is checked last, on matches only.
  const picked = status === undefined || status === "final" ? "" : `and ${PICKS[status]}`;
  const kept = status === "final" ? FINAL : "";
  return /* sql */ `
    with looked_at as materialized (
      select id, run_id, tool, created_at from issued_receipt
      where ${AMONG} ${picked}
      order by ${NEWEST} limit ${SCAN_LIMIT}
    ), found as materialized (
      select looked_at.id from looked_at join run on run.id = looked_at.run_id
      where ($4::text is null or looked_at.tool = $4) and ($5::uuid is null or run.key_id = $5)
        and looked_at.created_at >= $6 and looked_at.created_at < $7
        and ($10::text is null or ${OUTCOME} = $10) ${kept}
        and ($11::text is null
          or exists (select from run_model where run_id = looked_at.run_id and model = $11))
      order by looked_at.id desc limit $3
    )
    select looked.stopped_at, receipt.*
    from (
      select (select id from looked_at order by id desc limit 1 offset ${LAST_LOOKED_AT}) as stopped_at
    ) looked left join (
      select issued_receipt.* from found join issued_receipt on issued_receipt.id = found.id
    ) receipt on true
    order by receipt.id desc nulls last`;
}

/** Lists receipts, also those that are archived. */
export class PostgresReceipts extends RecordList<ReceiptRow, ReceiptStatus, Receipt> implements Receipts {
  constructor(pool: Pool, archived?: ArchivedRows, cell?: Cell) {
    const find = "select * from issued_receipt where id = $1 and account_id = $2";
    const statements = { find, page: receiptsPage, scan: filteredReceiptsPage };
    super(
      { list: "receipts", table: "receipt", prefix: "rcpt", ...statements, itemOf: toReceipt },
      pool,
      archived,
      cell,
    );
  }
}
