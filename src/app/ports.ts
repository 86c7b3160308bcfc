import type { Caller, KeyLimits } from "../domain/caller.ts";
import type { JsonObject } from "../domain/json.ts";
import type { MicroUsd } from "../domain/money.ts";
import type { NewKey } from "../domain/new-key.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";
import type { Receipt, ReceiptStatus } from "../domain/receipt.ts";
import type { Run, RunError, RunStatus } from "../domain/run.ts";
import type { Scope } from "../domain/scope.ts";
import type { ProgressListener } from "../domain/tool.ts";

/** What a door knows of the request that it hands to a use case. */
export interface CallContext {
  readonly caller: Caller;
  /** `req_…` */
  readonly requestId: string;
  /** Aborts when the caller has gone away or its deadline has passed. */
  readonly signal: AbortSignal;
  /** Tells the caller how far the call has come; undefined where nobody asked for it. */
  readonly progress?: ProgressListener | undefined;
}

/** Verifies API keys. Answers may come from memory, but a revoked key stops working within one second on every instance. */
export interface Authenticator {
  /** Who the key stands for, at once where memory decides; undefined: forged, mistyped, unknown, revoked or expired. */
  authenticate(secret: string): Caller | undefined | Promise<Caller | undefined>;
}

/** Whose tokens a request takes. */
export type RatedCaller = Pick<Caller, "keyId" | "accountId" | "tier" | "accountTier">;

/** The token buckets, one per key and one per account, shared by all instances on one database. */
export interface RateLimiter {
  /** One token of the key and its account, if both have one; at once where that is known from memory. */
  take(caller: RatedCaller): RateDecision | Promise<RateDecision>;
}

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

/** How a proof's transaction is looked up. */
export interface PaymentQuery {
  txSignature: string;
  /** Whose proof it is; undefined for what the gateway has sent itself. */
  accountId?: string | undefined;
  signal: AbortSignal;
}

/** What the chain says of a transaction, by the treasury's own balance (never by what the transaction says of itself). */
export type PaymentVerdict =
  /** It paid the treasury; `memo` is the text of the one memo that is ours. */
  | {
      kind: "paid";
      amount: MicroUsd;
      memo: string;
      payer: string | undefined;
      slot: bigint;
      blockTime: Date;
      finalized: boolean;
    }
  /** It is on the chain, and no payment to us: `reason` says which check failed and what to do. */
  | { kind: "refused"; reason: string }
  /** No endpoint knows it (yet), after waiting PAYMENT_WAIT_MS. */
  | { kind: "not_found" }
  /** It pays, but is not finalized yet and its amount asks for that. */
  | { kind: "not_finalized" };

/** Looks transactions up. */
export interface PaymentVerifier {
  /**
   * Waits for the transaction (bounded), then judges it.
   * @throws ToolgateError UNAVAILABLE when no endpoint can be reached: an outage is never a verdict
   */
  verify(query: PaymentQuery): Promise<PaymentVerdict>;
}

/** One page of a list, newest first. */
export interface Page<Item> {
  items: Item[];
  nextCursor: string | undefined;
}

/** Which page. */
export interface PageQuery<Status> {
  accountId: string;
  /** 1..100 */
  limit: number;
  cursor: string | undefined;
  status: Status | undefined;
  /** A page of a filtered list may have fewer items than asked for, and still a next one. */
  filter?: HistoryFilter | undefined;
}

/** What a list of receipts or runs is narrowed to; all of what is undefined. */
export interface HistoryFilter {
  tool?: string | undefined;
  /** `key_…` */
  keyId?: string | undefined;
  /** Made at this moment or later. */
  from?: Date | undefined;
  /** Made before this moment. */
  to?: Date | undefined;
}

/** Reads receipts. */
export interface Receipts {
  /** @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: PageQuery<ReceiptStatus>): Promise<Page<Receipt>>;
  find(accountId: string, receiptId: string): Promise<Receipt | undefined>;
}

/** Reads runs. */
export interface Runs {
  /** @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: PageQuery<RunStatus>): Promise<Page<Run>>;
  find(accountId: string, runId: string): Promise<Run | undefined>;
}

/** A customer. */
export interface Account {
  accountId: string;
  wallet: string;
  balance: MicroUsd;
  /** Of each of its keys. */
  tier: RateTier;
  /** Over all its keys. */
  accountTier: RateTier;
  operator: boolean;
  /** Why its keys are refused; undefined while they are not. */
  blockedReason: string | undefined;
  createdAt: Date;
}

/** A new tier; what is left out stays. Of the account's own, 0 stands for ten keys' worth. */
export interface TierChange {
  ratePerMinute?: number | undefined;
  burst?: number | undefined;
  accountRatePerMinute?: number | undefined;
  accountBurst?: number | undefined;
}

/** The operator's account work. Methods on an unknown account throw ToolgateError NOT_FOUND. */
export interface Accounts {
  /** Makes the wallet's account, or finds the one it has. */
  create(wallet: string): Promise<Account>;
  get(accountId: string): Promise<Account>;
  /**
   * Adds `amount` (negative: takes) once per key.
   * @throws ToolgateError INVALID_REQUEST for 0 and what JSON cannot tell exactly, and when the balance would fall below zero or be such
   */
  adjust(adjustment: {
    accountId: string;
    amount: MicroUsd;
    reason: string;
    idempotencyKey: string;
  }): Promise<Account>;
  /** Changes what is given. @throws ToolgateError INVALID_REQUEST for nothing, and for a rate or burst out of range */
  setTier(accountId: string, tier: TierChange): Promise<Account>;
  setOperator(accountId: string, operator: boolean): Promise<Account>;
  /** Has its keys refused for that reason, on every instance within a second, or let in again. */
  setBlocked(accountId: string, block: { blocked: boolean; reason: string }): Promise<Account>;
  /**
   * Newest first. `query` is the beginning of an account's identifier, a wallet's address, or a key's identifier or prefix; all when empty.
   * @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours
   */
  list(query: { query: string; limit: number; cursor: string | undefined }): Promise<Page<Account>>;
}

/** An API key without its secret. */
export interface ApiKey {
  keyId: string;
  accountId: string;
  prefix: string;
  name: string;
  scopes: Scope[];
  limits: KeyLimits | undefined;
  createdAt: Date;
  revokedAt: Date | undefined;
}

/** An API key, and when it was last used: to ten seconds, and undefined when never. */
export interface ListedKey extends ApiKey {
  lastUsedAt: Date | undefined;
}

/** An API key, and what its calls have cost. */
export interface KeyUsage extends ListedKey {
  /** What its limit per day has counted today (UTC), for all keys that share it, micro-USD; 0n without such a limit. */
  dayUsed: MicroUsd;
  /** What its calls were charged in all, refunds not taken off, micro-USD. */
  spent: MicroUsd;
  chargedCalls: bigint;
}

/** Which key is to be replaced, and for how long it goes on to work, seconds; with 0 it is revoked at once. */
export interface Rotation {
  keyId: string;
  /** Only a key of this account; undefined: any. */
  accountId: string | undefined;
  overlapSeconds: number;
}

/** Keys that are neither revoked nor expired, of an account, at most. */
export const MAX_ACTIVE_KEYS = 100;

/** The work with API keys, the operator's and that of their owners. */
export interface ApiKeys {
  /**
   * `secret` is `sk-agent-…` and is stored only as its SHA-256.
   * @throws ToolgateError NOT_FOUND for an unknown account; INVALID_REQUEST when it has {@link MAX_ACTIVE_KEYS}, or made too many within a day
   */
  create(key: NewKey & { accountId: string }): Promise<{ key: ApiKey; secret: string }>;
  /** Newest first, revoked and expired ones included; all accounts when undefined. */
  list(accountId: string | undefined): Promise<ListedKey[]>;
  /** {@link list} of one account, with figures. */
  listWithUsage(accountId: string): Promise<KeyUsage[]>;
  /**
   * Makes a key like that one, with which it shares what may be spent on a day.
   * @throws ToolgateError NOT_FOUND, for a foreign key too; INVALID_REQUEST for one that no longer works or was replaced before, and as
   * {@link create}
   */
  rotate(rotation: Rotation): Promise<{ key: ApiKey; secret: string; oldKey: ApiKey }>;
  /** Revokes, once; only a key of that account, unless undefined. @throws ToolgateError NOT_FOUND */
  revoke(keyId: string, accountId?: string): Promise<ApiKey>;
}

/** Whether the service can do its work. */
export interface Health {
  /** Whether the database answers. */
  check(signal: AbortSignal): Promise<boolean>;
}
