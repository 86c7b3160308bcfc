import type { Address } from "@solana/kit";
import type { LiteSVM } from "litesvm";
import { readAccount, type AccountState } from "./account-store.ts";
import { decodeMint, decodeTokenAccount, type TokenAccount } from "./token-account.ts";

/** A token account's holding before or after a transaction. */
export interface TokenBalance extends TokenAccount {
  readonly accountIndex: number;
  readonly decimals: number;
}

/** The token balances of a transaction's accounts, in account order, as `meta.preTokenBalances` has them. */
export function tokenBalances(svm: LiteSVM, accounts: readonly AccountState[]): readonly TokenBalance[] {
  const decimalsOf = new Map<Address, number | undefined>();
  return accounts.flatMap((account, accountIndex) => {
    const token = decodeTokenAccount(account);
    if (token === undefined) return [];
    if (!decimalsOf.has(token.mint)) {
      decimalsOf.set(token.mint, decodeMint(readAccount(svm, token.mint))?.decimals);
    }
    const decimals = decimalsOf.get(token.mint);
    return decimals === undefined ? [] : [{ ...token, accountIndex, decimals }];
  });
}
