import { lamports, type Address, type EncodedAccount } from "@solana/kit";
import type { LiteSVM } from "litesvm";
import { SYSTEM_PROGRAM } from "./addresses.ts";

/** An account's state; null where there is none. Accounts without lamports do not exist on Solana. */
export type AccountState = EncodedAccount | null;

/** The newest state of an account. */
export function readAccount(svm: LiteSVM, address: Address): AccountState {
  const account = svm.getAccount(address);
  return account.exists && account.lamports > 0n ? account : null;
}

/** Restores an account to an earlier state, or removes it. */
export function restoreAccount(svm: LiteSVM, address: Address, state: AccountState): void {
  svm.setAccount(state ?? newAccount(address, 0n));
}

/** An account without data that the System program owns: a wallet. */
export function newAccount(address: Address, balance: bigint): EncodedAccount {
  return {
    address,
    lamports: lamports(balance),
    data: new Uint8Array(),
    programAddress: SYSTEM_PROGRAM,
    executable: false,
    space: 0n,
  };
}
