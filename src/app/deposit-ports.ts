import type { Candidate, TransactionEffect, Deposit } from "../domain/deposit.ts";
import type { MicroUsd } from "../domain/money.ts";
import type { Page } from "./ports.ts";

/** The deposits that accounts have begun. What is credited is said by the treasury's books alone; they tell it here. */
export interface Deposits {
  /**
   * Begins a deposit; sent again, it is the same one.
   * @param limits how many an account may have begun since then of which nothing was credited
   * @returns undefined when it has that many
   */
  create(
    deposit: { depositId: string; accountId: string; amount: MicroUsd; reference: string; createdAt: Date },
    limits: { waiting: number; since: Date },
  ): Promise<Deposit | undefined>;
  /** Undefined for one that is not the account's. */
  find(accountId: string, depositId: string): Promise<Deposit | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: { accountId: string; limit: number; cursor: string | undefined }): Promise<Page<Deposit>>;
  /** Remembers the transaction that was seen for a deposit. */
  recordTransaction(depositId: string, txSignature: string): Promise<void>;
}

/** Whose deposits are; what the treasury's watch asks. */
export interface DepositAccounts {
  /** The account that began it; undefined: nobody did. */
  accountOf(depositId: string): Promise<string | undefined>;
}

/** What the network says of deposits. Everything throws ToolgateError UNAVAILABLE when it cannot be told. */
export interface DepositChain {
  /** How a transaction stands; undefined: every endpoint answers and does not know it. */
  find(txSignature: string, signal: AbortSignal): Promise<Candidate | undefined>;
  /** The newest transactions that name an address, confirmed at least, newest first; a few at most. */
  findByReference(reference: string, signal: AbortSignal): Promise<Candidate[]>;
  /** What a transaction did, confirmed at least; undefined: no endpoint tells it yet. */
  effect(txSignature: string, signal: AbortSignal): Promise<TransactionEffect | undefined>;
}

/** A payment that a wallet is to sign, and to pay the fee of. */
export interface WalletPayment {
  /** Base58. */
  readonly payer: string;
  /** Micro-USD. */
  readonly amount: MicroUsd;
  readonly memo: string;
  /** Base58; undefined: the transfer names none. */
  readonly reference: string | undefined;
}

/** Payments of wallets that pay the network's fee themselves. */
export interface WalletPayments {
  /**
   * Makes the transaction of a payment to the treasury, unsigned, in its wire form.
   * @throws ToolgateError INVALID_REQUEST when the wallet is none, or cannot pay; UNAVAILABLE
   */
  build(payment: WalletPayment, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Brings a signed transaction to the network, after the network has tried it. Sent again, it is sent once.
   * @throws ToolgateError INVALID_REQUEST when the network refuses it, in words; UNAVAILABLE
   */
  send(transaction: Uint8Array, signal: AbortSignal): Promise<void>;
}

/** A signed payment, read from its bytes. */
export interface SignedPayment {
  /** Base58. */
  readonly txSignature: string;
  /** The one memo of ours. */
  readonly memo: string;
}

/**
 * Reads what a wallet has signed.
 * @throws ToolgateError INVALID_REQUEST for anything but one signed payment of USDC to the treasury with one memo of ours
 */
export type ReadSignedPayment = (transaction: Uint8Array) => SignedPayment;
