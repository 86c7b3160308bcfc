import type { Caller } from "../../domain/accounts/caller.ts";

/** Accounts by their wallets, for callers without an API key. The caller has all scopes and no key. */
export interface WalletAccounts {
  /** Returns the wallet's account; undefined if it has none. Also for a blocked account. */
  find(wallet: string): Promise<Caller | undefined>;
  /** Returns the wallet's account, and creates it if it has none. */
  open(wallet: string): Promise<Caller>;
}
