import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";
import type { Deposit } from "../../domain/deposits/deposit.ts";

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
