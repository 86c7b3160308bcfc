import { address, lamports, type Address, type EncodedAccount } from "@solana/kit";
import type { LiteSVM } from "litesvm";

/** Well-known addresses of mainnet that exist under the same name on the local chain. */
export const SYSTEM_PROGRAM = address("11111111111111111111111111111111");
export const TOKEN_PROGRAM = address("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
export const TOKEN_2022_PROGRAM = address("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
const ASSOCIATED_TOKEN_PROGRAM = address("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
export const MEMO_V1_PROGRAM = address("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
export const MEMO_PROGRAM = address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
export const COMPUTE_BUDGET_PROGRAM = address("ComputeBudget111111111111111111111111111111");
export const LOOKUP_TABLE_PROGRAM = address("AddressLookupTab1e1111111111111111111111111");

/** The programs a transaction is likely to name, as its program or as an account of an instruction. */
export const WELL_KNOWN_PROGRAMS: ReadonlySet<string> = new Set([
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  TOKEN_2022_PROGRAM,
  ASSOCIATED_TOKEN_PROGRAM,
  MEMO_V1_PROGRAM,
  MEMO_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  LOOKUP_TABLE_PROGRAM,
]);

/** Circle's USDC on mainnet; 6 decimals, so one unit is one micro-USD. */
export const USDC_MINT = address("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
export const USDC_DECIMALS = 6;

/** `getGenesisHash` of mainnet-beta: by default clients that check the network accept the local chain. */
export const MAINNET_GENESIS_HASH = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";

/** An account's state; null where there is none. Accounts without lamports do not exist on Solana. */
export type AccountState = EncodedAccount | null;

export function readAccount(svm: LiteSVM, address: Address): AccountState {
  const account = svm.getAccount(address);
  return account.exists && account.lamports > 0n ? account : null;
}

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
