import type { Address, EncodedAccount } from "@solana/kit";
import type { AccountKeys } from "./account-keys.ts";
import type { AccountState } from "./account-store.ts";
import type { CompiledInstruction } from "./compiled-instruction.ts";
import type { TokenBalance } from "./token-balances.ts";
import type { TransactionError } from "./transaction-error.ts";
import type { WireTransaction } from "./wire-transaction.ts";

/** Effects of a transaction, successful or failed. */
export interface Execution {
  readonly err: TransactionError | null;
  readonly logs: readonly string[];
  /** Calls between programs, one list per top-level instruction. */
  readonly innerInstructions: readonly (readonly CompiledInstruction[])[];
  readonly computeUnits: bigint;
  readonly returnData: { readonly program: Address; readonly data: Uint8Array } | null;
}

/** Expected effects of a transaction. */
export interface Simulation extends Execution {
  /** The accounts after the transaction; undefined if it would fail. */
  readonly accountsAfter?: readonly EncodedAccount[];
}

/** A transaction that is part of the chain. */
export interface TransactionRecord extends Execution {
  readonly transaction: WireTransaction;
  readonly keys: AccountKeys;
  readonly slot: number;
  /** Unix seconds. */
  readonly blockTime: number;
  /** Finalized from the start: set-up that no test should have to wait for. */
  readonly rooted: boolean;
  /** Lamports. */
  readonly fee: bigint;
  readonly preBalances: readonly bigint[];
  readonly postBalances: readonly bigint[];
  readonly preTokenBalances: readonly TokenBalance[];
  readonly postTokenBalances: readonly TokenBalance[];
  /** State of every writable account before the transaction, to undo it. */
  readonly preImages: ReadonlyMap<Address, AccountState>;
}
