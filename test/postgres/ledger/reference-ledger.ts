import type {
  AuthorizeResult,
  CallAuthorization,
  RunEnd,
  RunEndResult,
} from "../../../src/app/calls/ledger.ts";
import type { CallPayment, VerifiedTransfer } from "../../../src/app/payments/payment-methods.ts";
import type { AttributedMovement, RecordResult } from "../../../src/app/treasury/treasury-ledger.ts";

interface Claim {
  fingerprint: string;
  state: "running" | "done" | "retryable";
  runId: string;
  /** Its latest payment. */
  tx: string | undefined;
}

interface Payment {
  /** Undefined when it has no owner. */
  accountId: string | undefined;
  quoteId: string | undefined;
  amount: bigint;
  finalized: boolean;
  reversed: boolean;
  assignedTo: string | undefined;
  /** Undefined when credited without a call. */
  fingerprint: string | undefined;
  claim: string;
}

interface Run {
  call: CallAuthorization;
  owner: string | undefined;
  status: "active" | "completed" | "failed" | "cancelled";
}

type Kind = { kind: string; run?: string };

/** A credited payment that bought nothing yet. */
const FRESH = { finalized: false, reversed: false, assignedTo: undefined, fingerprint: undefined, claim: "" };

/** A minimal single-process ledger without failures, to compare the real one with. */
export class ReferenceLedger {
  readonly #balances = new Map<string, bigint>();
  readonly #claims = new Map<string, Claim>();
  readonly #payments = new Map<string, Payment>();
  readonly #settledQuotes = new Set<string>();
  readonly #runs = new Map<string, Run>();
  readonly #expired = new Set<string>();
  readonly #movements = new Set<string>();
  readonly #refunded = new Set<string>();
  /** By key. */
  readonly #limits = new Map<string, bigint>();
  readonly #spent = new Map<string, bigint>();

  open(accountId: string, balance: bigint): void {
    this.#balances.set(accountId, balance);
  }

  balance(accountId: string): bigint {
    return this.#balances.get(accountId) ?? 0n;
  }

  /** The kind of result; for a replay with its run. */
  begin(call: CallAuthorization, owner: string): Kind {
    const { payment } = call;
    const known = this.#known(call);
    if (known?.run !== undefined && payment)
      this.#claims.set(claimOf(call) ?? "", {
        fingerprint: print(call),
        state: "done",
        runId: known.run,
        tx: undefined,
      });
    if (known && known.kind !== "credited" && known.kind !== "quote_paid") return known;
    const credited = known?.kind === "credited";
    if (payment?.transfer && !credited) this.#deposit(call, payment, known?.kind !== "quote_paid");
    if (known?.kind === "quote_paid") return known;
    if (this.#exceedsLimit(call)) return { kind: "capped" };
    if (call.price > 0n && this.balance(call.accountId) < call.price) {
      if (payment && !credited) this.#claim(call, "retryable");
      return { kind: "insufficient" };
    }
    this.#take(call, call.price);
    this.#claim(call, "running");
    this.#runs.set(call.runId, { call, owner, status: "active" });
    return { kind: "started" };
  }

  finish(end: RunEnd, owner: string): Kind {
    const run = this.#runs.get(end.runId);
    if (!run || run.owner !== owner) return { kind: "lost" };
    if (run.status === "active") {
      run.status = end.outcome;
      this.#settle(run, end.outcome === "completed");
    }
    if (run.status !== end.outcome) return { kind: "lost" };
    return { kind: end.outcome === "completed" ? "captured" : "released" };
  }

  credit(accountId: string, deposit: VerifiedTransfer): boolean {
    if (this.#payments.has(deposit.reference)) return false;
    this.#payments.set(deposit.reference, {
      ...FRESH,
      accountId,
      quoteId: deposit.quoteId,
      amount: deposit.amount,
    });
    this.#add(accountId, deposit.amount);
    return true;
  }

  record({ txSignature, change, attribution }: AttributedMovement): RecordResult {
    if (this.#movements.has(txSignature)) return "known";
    const payment = this.#payments.get(txSignature);
    if (payment && payment.amount !== change) return "mismatch";
    this.#movements.add(txSignature);
    if (!payment) {
      const { accountId, quoteId } = attribution ?? {};
      this.#payments.set(txSignature, { ...FRESH, accountId, quoteId, amount: change, finalized: true });
      if (accountId !== undefined) this.#add(accountId, change);
      return accountId === undefined ? "suspended" : "credited";
    }
    payment.finalized = true;
    if (!payment.reversed) return "finalized";
    payment.reversed = false;
    this.#add(payment.accountId ?? "", change);
    return "reinstated";
  }

  finalize(txSignature: string): number {
    const payment = this.#payments.get(txSignature);
    if (!payment || payment.finalized || payment.reversed) return 0;
    payment.finalized = true;
    return 1;
  }

  /** The remaining balance; undefined when nothing was reversed. */
  reverse(txSignature: string): bigint | undefined {
    const payment = this.#payments.get(txSignature);
    if (!payment || payment.finalized || payment.reversed) return undefined;
    payment.reversed = true;
    this.#add(payment.accountId ?? "", -payment.amount);
    return this.balance(payment.accountId ?? "");
  }

  /** The new owner; undefined when the assignment is rejected. */
  assign(txSignature: string, to: string): string | undefined {
    const payment = this.#payments.get(txSignature);
    if (!payment || payment.accountId !== undefined) return undefined;
    if (payment.assignedTo !== undefined) return payment.assignedTo === to ? to : undefined;
    payment.assignedTo = to;
    this.#add(to, payment.amount);
    return to;
  }

  /** Whether this refunded the run's charge. */
  refund(runId: string): boolean {
    const run = this.#runs.get(runId);
    if (!run || this.#refunded.has(runId)) return false;
    this.#refunded.add(runId);
    this.#add(run.call.accountId, run.call.price);
    return true;
  }

  /** Expires all leases and sweeps as an instance: releases all runs but its own active ones. */
  sweep(runId: string, sweeper: string): void {
    this.#expired.add(runId);
    for (const expired of this.#expired) {
      const run = this.#runs.get(expired);
      if (run?.status !== "active" || run.owner === sweeper) continue;
      run.status = "failed";
      run.owner = undefined;
      this.#settle(run, false);
    }
  }

  #deposit(call: CallAuthorization, payment: CallPayment, settles: boolean): void {
    const { reference: txSignature, quoteId } = payment;
    const credited = this.#payments.has(txSignature);
    if (!credited) this.#add(call.accountId, payment.transfer?.amount ?? 0n);
    this.#payments.set(txSignature, {
      ...FRESH,
      amount: payment.transfer?.amount ?? 0n,
      ...this.#payments.get(txSignature),
      accountId: call.accountId,
      quoteId,
      fingerprint: settles ? print(call) : undefined,
      claim: claimOf(call) ?? "",
    });
    if (settles) this.#settledQuotes.add(quoteId);
  }

  #claim(call: CallAuthorization, state: Claim["state"]): void {
    const claim = claimOf(call);
    if (claim === undefined) return;
    const tx = call.payment?.reference ?? this.#claims.get(claim)?.tx;
    this.#claims.set(claim, { fingerprint: print(call), state, runId: call.runId, tx });
    const paid = this.#payments.get(tx ?? "");
    if (paid) paid.claim = claim;
  }

  #settle({ call }: Run, charged: boolean): void {
    if (!charged) this.#take(call, -call.price);
    const claim = this.#claims.get(claimOf(call) ?? "");
    if (claim?.runId === call.runId) claim.state = charged ? "done" : "retryable";
  }

  #known(call: CallAuthorization): Kind | undefined {
    const claim = this.#claims.get(claimOf(call) ?? "");
    const payment = this.#payments.get(call.payment?.reference ?? "");
    const misused = payment && !paysFor(payment, call) ? { kind: misuseOf(payment) } : undefined;
    if (misused && call.idempotencyKey === undefined) return misused;
    if (claim && claim.fingerprint !== print(call)) return { kind: "mismatch" };
    const former = this.#payments.get(claim?.tx ?? "");
    const repeat = repeatOf(claim) ?? repeatOf(this.#claims.get(former?.claim ?? ""));
    if (repeat) return repeat;
    if (misused) return misused;
    return payment ? this.#boughtBy(payment, call) : this.#quoted(call);
  }

  #boughtBy(payment: Payment, call: CallAuthorization): Kind | undefined {
    const settled = payment.fingerprint !== undefined;
    const bought = settled ? repeatOf(this.#claims.get(payment.claim)) : undefined;
    if (bought) return bought;
    if (payment.reversed) return { kind: "reversed" };
    return settled ? { kind: "credited" } : this.#quoted(call);
  }

  #quoted({ payment }: CallAuthorization): Kind | undefined {
    if (payment && !payment.transfer) return { kind: "payment_used" };
    return this.#settledQuotes.has(payment?.quoteId ?? "") ? { kind: "quote_paid" } : undefined;
  }

  /** Limits what the key takes from the balance. */
  limit(keyId: string, limit: bigint): void {
    this.#limits.set(keyId, limit);
  }

  #exceedsLimit(call: CallAuthorization): boolean {
    return counts(call) && this.spent(call) + call.price > (this.#limits.get(call.keyId) ?? 0n);
  }

  /** What counts against the key's limit. All of a trial is on one day. */
  spent({ keyId }: CallAuthorization): bigint {
    return this.#spent.get(keyId) ?? 0n;
  }

  #take(call: CallAuthorization, price: bigint): void {
    this.#add(call.accountId, -price);
    if (counts(call)) this.#spent.set(call.keyId, this.spent(call) + price);
  }

  #add(accountId: string, amount: bigint): void {
    this.#balances.set(accountId, this.balance(accountId) + amount);
  }
}

/** Whether the key's limit counts the call; a call with its own payment does not count. */
function counts({ budgeted, payment, price }: CallAuthorization): boolean {
  return budgeted && !payment && price > 0n;
}

function repeatOf(claim: Claim | undefined): Kind | undefined {
  if (claim?.state === "running") return { kind: "in_progress" };
  return claim?.state === "done" ? { kind: "replay", run: claim.runId } : undefined;
}

function misuseOf(payment: Payment): string {
  if (payment.reversed) return "reversed";
  return payment.accountId === undefined ? "unassigned" : "payment_used";
}

function paysFor(payment: Payment, call: CallAuthorization): boolean {
  return (
    payment.accountId === call.accountId &&
    payment.quoteId === call.payment?.quoteId &&
    (payment.fingerprint === undefined || payment.fingerprint === print(call))
  );
}

function claimOf(call: CallAuthorization): string | undefined {
  const { accountId, idempotencyKey, payment } = call;
  if (idempotencyKey !== undefined) return `${accountId} key:${idempotencyKey}`;
  return payment && `${accountId} pay:${payment.reference}`;
}

function print(call: CallAuthorization): string {
  return call.fingerprint.toString("hex");
}

/** The comparable part of a result of the real ledger. */
export function kindOf(answer: AuthorizeResult | RunEndResult): Kind {
  if (answer.kind !== "replay" || !answer.receipt) return { kind: answer.kind };
  return { kind: answer.kind, run: answer.receipt.runId };
}
