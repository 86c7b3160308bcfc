import type {
  CallAuthorization,
  AuthorizeResult,
  CompletedRun,
  FailedRun,
  RunEnd,
  RunEndResult,
  Ledger,
  PriorOutcome,
  PriorQuery,
} from "../../src/app/calls/ledger.ts";
import type { VerifiedTransfer } from "../../src/app/payments/payment-methods.ts";
import type { JsonObject } from "../../src/domain/core/json.ts";
import type { MicroUsd } from "../../src/domain/core/money.ts";
import type { Receipt, Run } from "../../src/domain/calls/receipt.ts";

interface Entry {
  readonly call: CallAuthorization;
  readonly run: Run;
  result: JsonObject | undefined;
  receipt: Receipt | undefined;
}

/** An in-memory ledger for tests of the transports, without real accounting. */
export class MemoryLedger implements Ledger {
  now = () => new Date();
  readonly balances = new Map<string, MicroUsd>();
  readonly entries: Entry[] = [];

  async refusalOf(): Promise<undefined> {}

  isAllowedOnce = async () => false;

  async findPrior({ accountId, fingerprint, reference: txSignature }: PriorQuery): Promise<PriorOutcome> {
    const entry = this.entries.find(({ call }) => call.payment?.reference === txSignature);
    if (!entry) return undefined;
    if (entry.call.accountId !== accountId || !entry.call.fingerprint.equals(fingerprint))
      return { kind: "payment_used" };
    return entry.result
      ? { kind: "replay", result: entry.result, receipt: entry.receipt }
      : { kind: "in_progress" };
  }

  async authorize(call: CallAuthorization): Promise<AuthorizeResult> {
    const before = this.entries.find(
      (entry) => call.idempotencyKey !== undefined && entry.call.idempotencyKey === call.idempotencyKey,
    );
    if (before) {
      if (!before.call.fingerprint.equals(call.fingerprint)) return { kind: "mismatch" };
      return before.result
        ? { kind: "replay", result: before.result, receipt: before.receipt }
        : { kind: "in_progress" };
    }
    if (call.payment?.transfer) await this.credit(call.accountId, call.payment.transfer);
    const balance = await this.balance(call.accountId);
    if (balance < call.price) return { kind: "insufficient", balance };
    this.balances.set(call.accountId, balance - call.price);
    const now = new Date();
    const run: Run = {
      runId: call.runId,
      tool: call.tool,
      status: "active",
      stepId: call.payment?.stepId,
      quoted: call.price,
      spent: 0n,
      receiptId: undefined,
      error: undefined,
      model: undefined,
      createdAt: now,
      startedAt: now,
      endedAt: undefined,
    };
    this.entries.unshift({ call, run, result: undefined, receipt: undefined });
    return { kind: "started" };
  }

  capture = (run: CompletedRun) => this.#end(run);
  release = (run: FailedRun) => this.#end(run);

  async #end(end: RunEnd): Promise<RunEndResult> {
    const entry = this.entries.find(({ run }) => run.runId === end.runId);
    if (!entry || entry.run.status !== "active") return { kind: "lost" };
    const { call, run } = entry;
    run.status = end.outcome;
    run.endedAt = this.now();
    if (end.outcome !== "completed") {
      this.balances.set(call.accountId, (await this.balance(call.accountId)) + call.price);
      run.error = end.error;
      return { kind: "released" };
    }
    entry.result = end.result;
    if (call.price > 0n) entry.receipt = receiptOf(call, end, run.endedAt);
    run.spent = entry.receipt?.debited ?? 0n;
    this.balances.set(call.accountId, (await this.balance(call.accountId)) + call.price - run.spent);
    run.receiptId = entry.receipt?.receiptId;
    return { kind: "captured", receipt: entry.receipt };
  }

  async credit(
    accountId: string,
    { amount }: VerifiedTransfer,
  ): Promise<{ credited: boolean; balance: MicroUsd }> {
    const balance = (await this.balance(accountId)) + amount;
    this.balances.set(accountId, balance);
    return { credited: true, balance };
  }

  async balance(accountId: string): Promise<MicroUsd> {
    return this.balances.get(accountId) ?? 0n;
  }
}

function receiptOf(
  { runId, tool, price, payment }: CallAuthorization,
  { receiptId, captured }: CompletedRun,
  createdAt: Date,
): Receipt {
  return {
    receiptId,
    runId,
    tool,
    quoteId: payment?.quoteId,
    stepId: payment?.stepId,
    txSignature: payment?.reference,
    quoted: price,
    debited: captured ?? price,
    refunded: 0n,
    paidBy: payment ? (payment.transfer?.paidBy ?? "transfer") : "balance",
    status: "final",
    createdAt,
  };
}
