import type { Candidate, TransactionEffect } from "../../domain/deposits/deposit.ts";

/**
 * Chain queries for deposits. All methods throw ToolgateError UNAVAILABLE when the network cannot answer.
 */
export interface DepositChain {
  /** Finds a transaction; undefined when every endpoint answers and none knows it. */
  find(txSignature: string, signal: AbortSignal): Promise<Candidate | undefined>;
  /** Returns a few of the newest confirmed transactions that name an address, newest first. */
  findByReference(reference: string, signal: AbortSignal): Promise<Candidate[]>;
  /** Returns the effect of a confirmed transaction; undefined while no endpoint has it. */
  effect(txSignature: string, signal: AbortSignal): Promise<TransactionEffect | undefined>;
}
