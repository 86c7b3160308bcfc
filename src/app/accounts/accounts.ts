import type { RateTier } from "../../domain/accounts/rate-limit.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";

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
