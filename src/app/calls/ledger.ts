import type { Receipt } from "../../domain/calls/receipt.ts";
import type { RunError } from "../../domain/calls/run.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";

/** A transfer into the treasury that was verified on the chain. It is a fact: whoever it belongs to gets the credit, once. */
export interface VerifiedTransfer {
  /** Base58, 64 bytes; unique. */
  txSignature: string;
  /** What the treasury's token account gained, micro-USD; more than 0. */
  amount: MicroUsd;
  /** The quote that the memo names. */
  quoteId: string;
  /** Token account owner that paid, base58, if it could be told. */
  payer: string | undefined;
  slot: bigint;
  /** When the chain confirmed it. */
  blockTime: Date;
  /** Whether it can no longer be forked away. */
  finalized: boolean;
  paidBy: "transfer" | "gasless";
}

/** What a key may still take from the balance today. */
export interface KeyBudget {
  /** `key_…`; keys that replace each other share it. */
  id: string;
  /** What all of them together may take on one day of UTC, micro-USD. */
  perDay: MicroUsd;
}

/** A call that wants to begin: claim and hold in one transaction. */
export interface CallAuthorization {
  accountId: string;
  /** The key that calls. */
  keyId: string;
  /** Binds a call that is paid from the balance; undefined: nothing is counted. */
  budget: KeyBudget | undefined;
  /** Fresh `run_…`; the run that is made, unless the call turns out to be a repeat. */
  runId: string;
  tool: string;
  /** 32 bytes, see domain/fingerprint.ts. */
  fingerprint: Buffer;
  /** 0n for a free call. */
  price: MicroUsd;
  /** The caller's key, if it sent one. A paid call without a key is claimed under its transaction signature. */
  idempotencyKey: string | undefined;
  /** The proof that the call brings: its payment is claimed for this call, so that it pays for one call only. */
  payment: CallPayment | undefined;
}

/** The payment of a call that came with a proof. */
export interface CallPayment {
  txSignature: string;
  quoteId: string;
  stepId: string;
  /** Credited and held in the same transaction; undefined when it was credited before (see {@link PriorOutcome}, `credited`). */
  transfer: VerifiedTransfer | undefined;
}

/** How a call began. */
export type AuthorizeResult =
  /** Run, claim and hold are durable: run the tool, then finish. */
  | { kind: "started" }
  /** The same call was charged (or, free, completed) before: this is its answer. */
  | { kind: "replay"; result: JsonObject; receipt: Receipt | undefined }
  /** The same call is running right now. */
  | { kind: "in_progress" }
  /** The idempotency key belongs to a call with another tool or other parameters. */
  | { kind: "mismatch" }
  /** The transaction was used for another quote, for a call with another tool or other parameters, or by another account. Nothing was credited again. */
  | { kind: "payment_used" }
  /** The quote was paid before by another transaction. This one was credited to the balance all the same. */
  | { kind: "quote_paid" }
  /** The transaction reached the treasury without an owner: the operator gives it to one. Nothing was credited for this call. */
  | { kind: "unassigned" }
  /** The transaction did not stay on the chain, and its credit was taken back. Nothing was credited again. */
  | { kind: "reversed" }
  /** The balance does not cover the price. */
  | { kind: "insufficient"; balance: MicroUsd }
  /** The price is more than what the key may still take from the balance today, where its limit has `spent` on it. Nothing was claimed. */
  | { kind: "capped"; spent: MicroUsd };

/** What is known of an earlier call with the same key or proof, before anything is looked up on the chain. */
export type PriorOutcome =
  | Extract<
      AuthorizeResult,
      { kind: "replay" | "in_progress" | "mismatch" | "payment_used" | "unassigned" | "reversed" }
    >
  /**
   * The payment was credited for this very call, which then failed: run it again, there is nothing to verify. `idempotencyKey` is the
   * key that it last came with: a proof that comes alone runs under it, so that both go on to stand for one call.
   */
  | { kind: "credited"; idempotencyKey: string | undefined }
  | undefined;

/** Which earlier call. */
export interface PriorQuery {
  accountId: string;
  fingerprint: Buffer;
  idempotencyKey: string | undefined;
  txSignature: string;
  quoteId: string;
}

/** How a run ended. */
export type RunEnd =
  | { runId: string; outcome: "completed"; receiptId: string; result: JsonObject }
  | { runId: string; outcome: "failed" | "cancelled"; error: RunError };

/** What became of it: captured (with its receipt, for a paid run), released (nothing charged), or lost: another instance had released the run. */
export type RunEndResult =
  | { kind: "captured"; receipt: Receipt | undefined }
  | { kind: "released" }
  | { kind: "lost" };

/** The ledger: the one place where money moves (decisions: docs/decisions.md, Money). */
export interface Ledger {
  /** Finds the earlier call with that key or transaction signature. */
  findPrior(query: PriorQuery): Promise<PriorOutcome>;
  /** Claims the key and the payment, credits the payment, holds the price, makes the run. All or nothing. */
  authorize(call: CallAuthorization): Promise<AuthorizeResult>;
  /** Captures the hold with receipt and stored result, or releases it. Fenced: does nothing unless the run is active and this instance's. */
  finish(call: RunEnd): Promise<RunEndResult>;
  /** Credits a deposit that begins no call (too little, too late). `credited` is false when it had been credited before. */
  credit(accountId: string, deposit: VerifiedTransfer): Promise<{ credited: boolean; balance: MicroUsd }>;
  /** Entries less open holds. */
  balance(accountId: string): Promise<MicroUsd>;
}
