import type { Pool } from "pg";
import type { Begun, BeginCall, Deposit, FinishCall, Finished, Ledger, Prior, PriorQuery } from "../app/ports.ts";
import { ToolgateError } from "../domain/errors.ts";
import type { JsonObject } from "../domain/json.ts";
import { Lru } from "../domain/lru.ts";
import type { MicroUsd } from "../domain/money.ts";
import { AGAIN, Batcher } from "./batcher.ts";
import type { Leases } from "./leases.ts";
import { retrying } from "./retry.ts";
import { receiptOf, signatureFrom, uuidFrom, type ReceiptRow } from "./rows.ts";

/** What the ledger needs. */
export interface LedgerOptions {
  pool: Pool;
  /** A UUID that is this process's alone: the owner of its runs. */
  instanceId: string;
  /** How long a run may go without a heartbeat, ms. */
  leaseMs: number;
  leases: Leases;
}

/** Calls in one transaction at most. */
const BATCH = 200;

/** How long a call waits for a database that is away, ms. The end of a run waits for as long as it keeps its lease. */
const PATIENCE_MS = 5_000;

interface BegunRow extends Nullable<ReceiptRow> {
  n: number;
  kind: Begun["kind"] | "credited" | "again";
  balance: bigint | null;
  result: JsonObject | null;
}

interface FinishedRow extends Nullable<ReceiptRow> {
  n: number;
  kind: Finished["kind"];
}

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null };

/**
 * The ledger on PostgreSQL. The rules are in the functions `ledger_*` of the migrations; here calls are batched, sent, and sent
 * again when their answer is lost. That is safe: a call is known by its run, so that what happened the first time is told again.
 */
export class PostgresLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #beginning: Batcher<BeginCall, Begun>;
  readonly #finishing: Batcher<FinishCall, Finished>;
  readonly #balances: Batcher<string, MicroUsd>;
  /** Accounts whose last call was refused for their balance. */
  readonly #short = new Lru<string, true>(10_000);

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#balances = new Batcher({ max: 500, run: (accounts) => this.#balancesOf(accounts) });
    this.#beginning = new Batcher({ max: BATCH, keys: exclusiveKeys, run: (calls) => this.#beginAll(calls) });
    this.#finishing = new Batcher({ max: BATCH, keys: ({ runId }) => [runId], run: (calls) => this.#finishAll(calls) });
  }

  async prior(query: PriorQuery): Promise<Prior> {
    const call = {
      n: 1,
      account_id: uuidFrom("acct", query.accountId),
      fingerprint: bytes(query.fingerprint),
      claim_key: claimOf(query.idempotencyKey, query.txSignature),
      keyed: query.idempotencyKey !== undefined,
      tx_signature: bytes(signatureFrom(query.txSignature)),
      quote_id: query.quoteId,
    };
    const rows = await this.#query<BegunRow & { payment_claim: string | null }>(
      "ledger-prior",
      "select prior.n, prior.kind, prior.result, prior.payment_claim, (prior.receipt).* from ledger_prior($1) prior",
      [JSON.stringify(call)],
    );
    const [row] = rows;
    switch (row?.kind) {
      case "replay":
        return replayOf(row);
      case "in_progress":
      case "mismatch":
      case "payment_used":
      case "unassigned":
      case "reversed":
        return { kind: row.kind };
      case "credited":
        return { kind: row.kind, idempotencyKey: keyOf(row.payment_claim) };
      default:
        return undefined;
    }
  }

  async begin(call: BeginCall): Promise<Begun> {
    const short = await this.#stillShort(call);
    if (short) return short;
    const begun = await this.#beginning.submit(call);
    if (begun.kind === "insufficient") this.#short.set(call.accountId, true);
    // Answered by the call that its payment bought under another key: from now on this key stands for that answer too.
    if (begun.kind === "replay" && call.payment && call.idempotencyKey !== undefined) {
      await this.prior({ ...call, ...call.payment });
    }
    if (begun.kind === "started") this.#options.leases.add(uuidFrom("run", call.runId));
    return begun;
  }

  /**
   * An account that was short the last time is likely short again: its balance alone, which is one row for all its calls in a batch,
   * then tells so for far less than the judgement of a call. Only for calls that claim nothing, of which nothing else can be known.
   */
  async #stillShort(call: BeginCall): Promise<Begun | undefined> {
    if (call.price === 0n || claimKey(call) !== undefined || !this.#short.get(call.accountId)) return undefined;
    const balance = await this.#balances.submit(uuidFrom("acct", call.accountId));
    if (balance < call.price) return { kind: "insufficient", balance };
    this.#short.delete(call.accountId);
    return undefined;
  }

  async #balancesOf(accounts: readonly string[]): Promise<MicroUsd[]> {
    const rows = await this.#query<{ id: string; available: bigint }>(
      "ledger-balances",
      "select id, available from account where id = any ($1::uuid[])",
      [[...new Set(accounts)]],
    );
    // PostgreSQL writes a uuid with hyphens, whatever it was asked with.
    const balances = new Map(rows.map(({ id, available }) => [id.replaceAll("-", ""), available]));
    return accounts.map((id) => balances.get(id.replaceAll("-", "")) ?? 0n);
  }

  async finish(call: FinishCall): Promise<Finished> {
    try {
      return await this.#finishing.submit(call);
    } finally {
      this.#options.leases.remove(uuidFrom("run", call.runId));
    }
  }

  async credit(accountId: string, deposit: Deposit): Promise<{ credited: boolean; balance: MicroUsd }> {
    const rows = await this.#query<{ credited: boolean }>(
      "ledger-credit",
      "select ledger_credit($1, $2, $3, $4, $5, $6, $7, $8, $9) as credited",
      [
        uuidFrom("acct", accountId),
        signatureFrom(deposit.txSignature),
        deposit.amount,
        deposit.quoteId,
        deposit.payer,
        deposit.slot,
        deposit.blockTime,
        deposit.finalized,
        deposit.paidBy,
      ],
    );
    return { credited: rows[0]?.credited === true, balance: await this.balance(accountId) };
  }

  async balance(accountId: string): Promise<MicroUsd> {
    const rows = await this.#query<{ available: bigint }>(
      "ledger-balance",
      "select available from account where id = $1",
      [uuidFrom("acct", accountId)],
    );
    if (!rows[0]) throw new ToolgateError("NOT_FOUND", "there is no such account");
    return rows[0].available;
  }

  async #beginAll(calls: readonly BeginCall[]): Promise<(Begun | typeof AGAIN)[]> {
    const rows = await this.#query<BegunRow>(
      "ledger-begin",
      `select begun.n, begun.kind, begun.balance, begun.result, (begun.receipt).*
       from ledger_begin(array(select call from json_populate_recordset(null::ledger_call, $1) call), $2, $3 * interval '1 millisecond') begun`,
      [JSON.stringify(calls.map(callRecord)), this.#options.instanceId, this.#options.leaseMs],
    );
    return inOrder(rows, begunOf);
  }

  async #finishAll(calls: readonly FinishCall[]): Promise<Finished[]> {
    const rows = await this.#query<FinishedRow>(
      "ledger-finish",
      `select finished.n, finished.kind, (finished.receipt).*
       from ledger_finish(array(select ending from json_populate_recordset(null::ledger_ending, $1) ending), $2::text[]::json[], $3) finished`,
      [JSON.stringify(calls.map(endingRecord)), calls.map(resultText), this.#options.instanceId],
      Math.max(PATIENCE_MS, this.#options.leaseMs),
    );
    return inOrder(rows, finishedOf);
  }

  async #query<Row extends object>(
    name: string,
    text: string,
    values: unknown[],
    patienceMs = PATIENCE_MS,
  ): Promise<Row[]> {
    const { pool } = this.#options;
    return retrying(patienceMs, async () => (await pool.query<Row>({ name, text, values })).rows);
  }
}

/** The claim of a call: its key, or its payment where it has none. A paid call from the balance without a key claims nothing. */
function claimKey(call: BeginCall): string | undefined {
  return claimOf(call.idempotencyKey, call.payment?.txSignature);
}

/** Keys and payments are named apart, so that no caller's key can be another call's payment. */
function claimOf(idempotencyKey: string | undefined, txSignature: string | undefined): string | undefined {
  if (idempotencyKey !== undefined) return `key:${idempotencyKey}`;
  return txSignature === undefined ? undefined : `pay:${txSignature}`;
}

/** The caller's key of a claim that has one. */
function keyOf(claim: string | null): string | undefined {
  return claim?.startsWith("key:") ? claim.slice("key:".length) : undefined;
}

/** What no two calls of one batch share: a claim, a payment, and a quote, which only one payment settles. */
function exclusiveKeys(call: BeginCall): string[] {
  const claim = claimKey(call);
  const keys = claim === undefined ? [] : [`claim ${call.accountId} ${claim}`];
  if (call.payment) keys.push(`payment ${call.payment.txSignature}`, `quote ${call.payment.quoteId}`);
  return keys;
}

/** A call as the type `ledger_call` reads it from JSON. */
function callRecord(call: BeginCall, index: number): object {
  const { payment } = call;
  const deposit = payment?.deposit;
  return {
    n: index + 1,
    account_id: uuidFrom("acct", call.accountId),
    run_id: uuidFrom("run", call.runId),
    tool: call.tool,
    fingerprint: bytes(call.fingerprint),
    price: call.price.toString(),
    claim_key: claimKey(call),
    keyed: call.idempotencyKey !== undefined,
    tx_signature: payment && bytes(signatureFrom(payment.txSignature)),
    quote_id: payment?.quoteId,
    step_id: payment?.stepId,
    deposit: deposit?.amount.toString(),
    payer: deposit?.payer,
    slot: deposit?.slot.toString(),
    block_time: deposit?.blockTime,
    finalized: deposit?.finalized,
    paid_by: deposit?.paidBy,
  };
}

/** The end of a run as the type `ledger_ending` reads it from JSON. */
function endingRecord(call: FinishCall, index: number): object {
  const common = { n: index + 1, run_id: uuidFrom("run", call.runId), outcome: call.outcome };
  if (call.outcome === "completed") return { ...common, receipt_id: uuidFrom("rcpt", call.receiptId) };
  // PostgreSQL's text is UTF-8 without NUL, and a lone surrogate has no UTF-8.
  const message = call.error.message.replaceAll("\0", "").toWellFormed();
  return { ...common, error_code: call.error.code, error_message: message };
}

function resultText(call: FinishCall): string | null {
  return call.outcome === "completed" ? JSON.stringify(call.result) : null;
}

/** Bytes in PostgreSQL's hex form. */
function bytes(buffer: Buffer): string {
  return `\\x${buffer.toString("hex")}`;
}

/** The answers by the number of their question. */
function inOrder<Row extends { n: number }, Answer>(rows: readonly Row[], answerOf: (row: Row) => Answer): Answer[] {
  const answers: Answer[] = [];
  for (const row of rows) answers[row.n - 1] = answerOf(row);
  return answers;
}

function begunOf(row: BegunRow): Begun | typeof AGAIN {
  switch (row.kind) {
    case "again":
      return AGAIN;
    case "replay":
      return replayOf(row);
    case "insufficient":
      return { kind: row.kind, balance: row.balance ?? 0n };
    case "credited":
      throw new Error("a call was left between two states");
    default:
      return { kind: row.kind };
  }
}

function finishedOf(row: FinishedRow): Finished {
  return row.kind === "captured" ? { kind: row.kind, receipt: receiptIn(row) } : { kind: row.kind };
}

function replayOf(row: BegunRow): Extract<Begun, { kind: "replay" }> {
  return { kind: "replay", result: row.result ?? {}, receipt: receiptIn(row) };
}

/** The receipt of a row that may have none. */
function receiptIn(row: Nullable<ReceiptRow>) {
  return isReceipt(row) ? receiptOf(row) : undefined;
}

function isReceipt(row: Nullable<ReceiptRow>): row is ReceiptRow {
  return row.id !== null;
}
