import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { Deposit, Candidate, TransactionEffect } from "../../domain/deposits/deposit.ts";

/** A payment that a wallet signs and pays the network fee of. */
export interface WalletPayment {
  /** Base58. */
  readonly payer: string;
  /** Micro-USD. */
  readonly amount: MicroUsd;
  readonly memo: string;
  /** Base58; undefined: no reference. */
  readonly reference: string | undefined;
}

/** Payments of wallets that pay the network fee themselves. */
export interface WalletPayments {
  /**
   * Builds an unsigned payment to the treasury in wire format.
   * @throws ToolgateError INVALID_REQUEST for an address that is no wallet or cannot pay; UNAVAILABLE
   */
  build(payment: WalletPayment, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Simulates and sends a signed transaction. Idempotent.
   * @throws ToolgateError INVALID_REQUEST when the network rejects it; UNAVAILABLE
   */
  send(transaction: Uint8Array, signal: AbortSignal): Promise<void>;
}

export interface SignedPayment {
  /** Base58. */
  readonly txSignature: string;
  /** The one memo in our format. */
  readonly memo: string;
}

/**
 * Parses a wallet-signed transaction.
 * @throws ToolgateError INVALID_REQUEST unless it is one signed USDC payment to the treasury with one memo
 * in our format
 */
export type ReadSignedPayment = (transaction: Uint8Array) => SignedPayment;

/** Chain queries for deposits. All methods throw ToolgateError UNAVAILABLE when the network cannot answer. */
export interface DepositChain {
  /** Finds a transaction; undefined when every endpoint answers and none knows it. */
  find(txSignature: string, signal: AbortSignal): Promise<Candidate | undefined>;
  /** Returns a few of the newest confirmed transactions that name an address, newest first. */
  findByReference(reference: string, signal: AbortSignal): Promise<Candidate[]>;
  /** Returns the effect of a confirmed transaction; undefined while no endpoint has it. */
  effect(txSignature: string, signal: AbortSignal): Promise<TransactionEffect | undefined>;
}

/** Deposits of accounts. Only the treasury ledger credits them. */
export interface Deposits {
  /**
   * Creates a deposit. Idempotent.
   * @param limits maximum of uncredited deposits the account created since that time
   * @returns undefined at the limit
   */
  create(
    deposit: { depositId: string; accountId: string; amount: MicroUsd; reference: string; createdAt: Date },
    limits: { waiting: number; since: Date },
  ): Promise<Deposit | undefined>;
  /** Returns undefined for a deposit of another account. */
  find(accountId: string, depositId: string): Promise<Deposit | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: PageRequest & { accountId: string }): Promise<Page<Deposit>>;
  /** Stores the transaction found for a deposit. */
  recordTransaction(depositId: string, txSignature: string): Promise<void>;
  /** Marks a deposit as cancelled. It is still credited if a transfer arrives. Idempotent. */
  cancel(depositId: string, at: Date): Promise<void>;
}

/** Looks up accounts for the treasury watch. */
export interface DepositAccounts {
  /** Returns the account that created the deposit; undefined for an unknown deposit. */
  accountOf(depositId: string): Promise<string | undefined>;
}
