import type { Candidate, TransactionEffect } from "../../domain/deposits/deposit.ts";

/** What the network says of deposits. Everything throws ToolgateError UNAVAILABLE when it cannot be told. */
export interface DepositChain {
  /** How a transaction stands; undefined: every endpoint answers and does not know it. */
  find(txSignature: string, signal: AbortSignal): Promise<Candidate | undefined>;
  /** The newest transactions that name an address, confirmed at least, newest first; a few at most. */
  findByReference(reference: string, signal: AbortSignal): Promise<Candidate[]>;
  /** What a transaction did, confirmed at least; undefined: no endpoint tells it yet. */
  effect(txSignature: string, signal: AbortSignal): Promise<TransactionEffect | undefined>;
}
