import type { Pool, QueryConfig } from "pg";
import type { CallInfo, ChainPayment, History, Receipts, RunDetails, Runs } from "../../app/calls/history.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import type { CallOutcome } from "../../domain/calls/run.ts";
import { accountMonths, dashed } from "../archived/account-months.ts";
import { ArchivedRows } from "../archived/archived-rows.ts";
import { queryBeside } from "../archived/beside-tables.ts";
import { idempotencyKeyOf } from "./claims.ts";
import { OUTCOME } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { referenceText, type PaymentColumns } from "../database/payment-keys.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";

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
