import type { Begun, BeginCall, Deposit, FinishCall, Finished } from "../../src/app/ports.ts";

interface Claim {
  fingerprint: string;
  state: "running" | "done" | "retryable";
  runId: string;
}

interface Payment {
  accountId: string;
  quoteId: string;
  /** Undefined: credited to the balance, paying for no call. */
  fingerprint: string | undefined;
  claim: string;
}

interface Run {
  call: BeginCall;
  owner: string | undefined;
  status: "active" | "completed" | "failed" | "cancelled";
}

type Kind = { kind: string; run?: string };

/** The ledger as one would write it for a single process that never fails: the smallest thing to compare the real one with. */
export class ReferenceLedger {
  readonly #balances = new Map<string, bigint>();
  readonly #claims = new Map<string, Claim>();
  readonly #payments = new Map<string, Payment>();
  readonly #settledQuotes = new Set<string>();
  readonly #runs = new Map<string, Run>();

  open(accountId: string, balance: bigint): void {
    this.#balances.set(accountId, balance);
  }

  balance(accountId: string): bigint {
    return this.#balances.get(accountId) ?? 0n;
  }

  /** The kind of answer; for a replay with the run it replays. */
  begin(call: BeginCall, owner: string): Kind {
    const { payment } = call;
    const known = this.#known(call, payment?.txSignature, payment?.quoteId);
    if (known && known.kind !== "credited" && known.kind !== "quote_paid") return known;
    if (payment && !known && !payment.deposit) return { kind: "payment_used" };
    const claim = claimOf(call);
    if (payment?.deposit && known?.kind !== "credited") {
      this.#add(call.accountId, payment.deposit.amount);
      const settles = known?.kind !== "quote_paid";
      this.#payments.set(payment.txSignature, {
        accountId: call.accountId,
        quoteId: payment.quoteId,
        fingerprint: settles ? print(call) : undefined,
        claim: claim ?? "",
      });
      if (!settles) return { kind: "quote_paid" };
      this.#settledQuotes.add(payment.quoteId);
    } else if (known?.kind === "quote_paid") {
      return { kind: "payment_used" };
    }
    if (this.balance(call.accountId) < call.price) {
      if (claim !== undefined && payment && known?.kind !== "credited") this.#claims.set(claim, { fingerprint: print(call), state: "retryable", runId: call.runId });
      return { kind: "insufficient" };
    }
    this.#add(call.accountId, -call.price);
    if (claim !== undefined) this.#claims.set(claim, { fingerprint: print(call), state: "running", runId: call.runId });
    const paid = payment && this.#payments.get(payment.txSignature);
    if (paid && claim !== undefined) paid.claim = claim;
    this.#runs.set(call.runId, { call, owner, status: "active" });
    return { kind: "started" };
  }

  finish(end: FinishCall, owner: string): Kind {
    const run = this.#runs.get(end.runId);
    if (!run || run.owner !== owner) return { kind: "lost" };
    if (run.status === "active") {
      run.status = end.outcome;
      this.#settle(run, end.outcome === "completed");
    }
    if (run.status !== end.outcome) return { kind: "lost" };
    return { kind: end.outcome === "completed" ? "captured" : "released" };
  }

  credit(accountId: string, deposit: Deposit): boolean {
    if (this.#payments.has(deposit.txSignature)) return false;
    this.#payments.set(deposit.txSignature, { accountId, quoteId: deposit.quoteId, fingerprint: undefined, claim: "" });
    this.#add(accountId, deposit.amount);
    return true;
  }

  /** The lease of an active run runs out and the sweep comes by. */
  sweep(runId: string): void {
    const run = this.#runs.get(runId);
    if (run?.status !== "active") return;
    run.status = "failed";
    run.owner = undefined;
    this.#settle(run, false);
  }

  #settle({ call }: Run, charged: boolean): void {
    if (!charged) this.#add(call.accountId, call.price);
    const claim = this.#claims.get(claimOf(call) ?? "");
    if (claim?.runId === call.runId) claim.state = charged ? "done" : "retryable";
  }

  #known(call: BeginCall, txSignature: string | undefined, quoteId: string | undefined): Kind | undefined {
    const claim = this.#claims.get(claimOf(call) ?? "");
    const payment = txSignature === undefined ? undefined : this.#payments.get(txSignature);
    const misused = payment && (payment.accountId !== call.accountId || payment.quoteId !== quoteId || payment.fingerprint !== print(call));
    if (misused && call.idempotencyKey === undefined) return { kind: "payment_used" };
    if (claim && claim.fingerprint !== print(call)) return { kind: "mismatch" };
    if (claim?.state === "running") return { kind: "in_progress" };
    if (claim?.state === "done") return { kind: "replay", run: claim.runId };
    if (misused) return { kind: "payment_used" };
    const paid = payment && this.#claims.get(payment.claim);
    if (paid?.state === "running") return { kind: "in_progress" };
    if (paid?.state === "done") return { kind: "replay", run: paid.runId };
    if (payment) return { kind: "credited" };
    return quoteId !== undefined && this.#settledQuotes.has(quoteId) ? { kind: "quote_paid" } : undefined;
  }

  #add(accountId: string, amount: bigint): void {
    this.#balances.set(accountId, this.balance(accountId) + amount);
  }
}

function claimOf(call: BeginCall): string | undefined {
  const key = call.idempotencyKey ?? (call.payment && `pay:${call.payment.txSignature}`);
  return key === undefined ? undefined : `${call.accountId} ${key}`;
}

function print(call: BeginCall): string {
  return call.fingerprint.toString("hex");
}

/** What an answer of the real ledger comes down to. */
export function kindOf(answer: Begun | Finished): Kind {
  if (answer.kind !== "replay" || !answer.receipt) return { kind: answer.kind };
  return { kind: answer.kind, run: answer.receipt.runId };
}
