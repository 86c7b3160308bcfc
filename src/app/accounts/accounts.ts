import type { RateTier, Caller } from "../../domain/accounts/caller.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";

/** Accounts by their wallets, for callers without an API key. The caller has all scopes and no key. */
export interface WalletAccounts {
  /** Returns the wallet's account; undefined if it has none. Also for a blocked account. */
  find(wallet: string): Promise<Caller | undefined>;
  /** Returns the wallet's account, and creates it if it has none. */
  open(wallet: string): Promise<Caller>;
}

export interface Account {
  accountId: string;
  wallet: string;
  balance: MicroUsd;
  tierName: string;
  /** Of each API key. */
  tier: RateTier;
  /** Shared by all its API keys. */
  accountTier: RateTier;
  operator: boolean;
  /** Why its keys are refused; undefined when not blocked. */
  blockedReason: string | undefined;
  createdAt: Date;
}

/** Changes to the rate limits; undefined: unchanged. An account's own limits precede its tier's; 0: none. */
export interface TierChange {
  /** Name of a tier in the configuration in force. */
  tier?: string | undefined;
  ratePerMinute?: number | undefined;
  burst?: number | undefined;
  accountRatePerMinute?: number | undefined;
  accountBurst?: number | undefined;
}

/** Account administration. Methods throw ToolgateError NOT_FOUND for an unknown account. */
export interface Accounts {
  /** Creates the wallet's account or returns the existing one. */
  create(wallet: string): Promise<Account>;
  get(accountId: string): Promise<Account>;
  /**
   * Adds `amount` (negative: subtracts) once per idempotency key.
   * @throws ToolgateError INVALID_REQUEST for 0, for an amount or balance that JSON cannot represent
   * exactly, and when the balance would fall below zero
   */
  adjust(adjustment: {
    accountId: string;
    amount: MicroUsd;
    reason: string;
    idempotencyKey: string;
  }): Promise<Account>;
  /** @throws ToolgateError INVALID_REQUEST for an unknown tier, a rate or burst out of range, or no change */
  setTier(accountId: string, tier: TierChange): Promise<Account>;
  setOperator(accountId: string, operator: boolean): Promise<Account>;
  /** Blocks or unblocks all keys of the account, on every instance within a second. */
  setBlocked(accountId: string, block: { blocked: boolean; reason: string }): Promise<Account>;
  /**
   * Newest first. `query` is a prefix of an account id, a wallet address, or a key's id or prefix; empty
   * matches all.
   * @throws ToolgateError INVALID_REQUEST for an invalid cursor
   */
  list(query: PageRequest & { query: string }): Promise<Page<Account>>;
}
