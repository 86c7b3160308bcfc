import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";
import type { Deposit } from "../../domain/deposits/deposit.ts";

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
  list(query: { accountId: string; limit: number; cursor: string | undefined }): Promise<Page<Deposit>>;
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
