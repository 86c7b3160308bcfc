import { hash } from "node:crypto";
import { idOf } from "../core/ids.ts";
import type { Caller } from "./caller.ts";
import { DEFAULT_TIER, type RateTier } from "./rate-limit.ts";
import type { RequestLogSettings } from "./request-log.ts";
import { SCOPES } from "./scope.ts";

/** The account of a wallet, as stored. */
export interface WalletAccount {
  readonly accountId: string;
  readonly tier: RateTier;
  readonly accountTier: RateTier;
  readonly blockedReason: string | undefined;
  readonly requestLog?: RequestLogSettings | undefined;
}

/**
 * Returns the caller of a wallet that pays or signed in without an API key: all rights of its account but
 * the operator role, and the account's id in place of a key's.
 * @param account undefined before the first payment: the id then only identifies the wallet
 */
export function walletCaller(wallet: string, account: WalletAccount = unknownAccount(wallet)): Caller {
  return {
    keyId: account.accountId,
    accountId: account.accountId,
    scopes: new Set(SCOPES),
    tier: account.tier,
    accountTier: account.accountTier,
    operator: false,
    limits: undefined,
    budgeted: false,
    limitsVersion: 0,
    blockedReason: account.blockedReason,
    requestLog: account.requestLog,
  };
}

/** Derived from the wallet, so that the limits of the relay count its payments before it has an account. */
function unknownAccount(wallet: string): WalletAccount {
  return {
    accountId: idOf("acct", hash("sha256", `wallet:${wallet}`, "buffer").subarray(0, 16)),
    tier: DEFAULT_TIER,
    accountTier: DEFAULT_TIER,
    blockedReason: undefined,
  };
}

/** The bucket of signed requests in place of an API key's: the account has one for all of them together. */
export function signInKeyId(accountId: string): string {
  return idOf("key", hash("sha256", `sign-in:${accountId}`, "buffer").subarray(0, 16));
}
