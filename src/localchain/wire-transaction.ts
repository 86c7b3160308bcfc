import { getCompiledTransactionMessageDecoder, getTransactionDecoder, getAddressDecoder } from "@solana/kit";
import type {
  CompiledTransactionMessage,
  Address,
  CompiledTransactionMessageWithLifetime,
  Transaction,
  EncodedAccount,
} from "@solana/kit";
import { base58 } from "@scure/base";
import type { LiteSVM } from "litesvm";
import { readAccount, LOOKUP_TABLE_PROGRAM, type AccountState } from "./accounts.ts";
import type { TransactionError } from "./transaction-error.ts";
import { decodeMint, decodeTokenAccount, type TokenAccount } from "./token-account.ts";

/** An instruction whose program and accounts are indexes into the transaction's account keys. */
export interface CompiledInstruction {
  readonly programIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
  /** 1 for an instruction of the transaction itself, more for calls between programs. */
  readonly stackHeight: number;
}

/** The top-level instructions of a message, whatever its version: v1 keeps headers and payloads apart. */
export function compiledInstructions(message: CompiledTransactionMessage): readonly CompiledInstruction[] {
  if (message.version === 1) {
    return message.instructionHeaders.map((header, index) => {
      const payload = message.instructionPayloads[index];
      if (payload === undefined) throw new Error("a v1 message has one payload per instruction header");
      return instruction(
        header.programAccountIndex,
        payload.instructionAccountIndices,
        payload.instructionData,
      );
    });
  }
  return message.instructions.map((each) =>
    instruction(each.programAddressIndex, each.accountIndices, each.data),
  );
}

function instruction(
  programIndex: number,
  accounts: readonly number[] | undefined,
  data: ArrayLike<number> | undefined,
): CompiledInstruction {
  return { programIndex, accounts: accounts ?? [], data: Uint8Array.from(data ?? []), stackHeight: 1 };
}

export interface WireTransaction {
  readonly bytes: Uint8Array;
  /** base58 of the first signature: the transaction's name. */
  readonly signature: string;
  readonly signatures: readonly string[];
  readonly message: CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;
  readonly instructions: readonly CompiledInstruction[];
  /** The form LiteSVM takes. */
  readonly kit: Transaction;
}

interface LookupTableUse {
  readonly lookupTableAddress: Address;
  readonly writableIndexes: readonly number[];
  readonly readonlyIndexes: readonly number[];
}

const transactionDecoder = getTransactionDecoder();
const messageDecoder = getCompiledTransactionMessageDecoder();

/**
 * Decodes a legacy, v0 or v1 transaction.
 *
 * @throws Error if the bytes are not a transaction
 */
export function decodeTransaction(bytes: Uint8Array): WireTransaction {
  const kit = transactionDecoder.decode(bytes);
  const message = messageDecoder.decode(kit.messageBytes);
  const signatures = Object.values(kit.signatures).map((signature) =>
    base58.encode(signature === null ? new Uint8Array(64) : Uint8Array.from(signature)),
  );
  const signature = signatures[0];
  if (signature === undefined) throw new Error("a transaction has at least one signature");
  return { bytes, signature, signatures, message, instructions: compiledInstructions(message), kit };
}

/** The address lookup tables a message names; only v0 messages can. */
export function lookupTables(message: CompiledTransactionMessage): readonly LookupTableUse[] {
  return message.version === 0 ? (message.addressTableLookups ?? []) : [];
}

/** Every account of a transaction in index order: those in the message, then those from lookup tables. */
export interface AccountKeys {
  readonly all: readonly Address[];
  readonly loaded: { readonly writable: readonly Address[]; readonly readonly: readonly Address[] };
  isSigner(index: number): boolean;
  isWritable(index: number): boolean;
}

/** Size of a lookup table's header; addresses of 32 bytes follow. */
const LOOKUP_TABLE_HEADER = 56;
const addressDecoder = getAddressDecoder();

/**
 * Resolves a transaction's accounts.
 *
 * @returns undefined if a lookup table does not exist or is too short: such a transaction cannot land
 */
export function resolveAccountKeys(svm: LiteSVM, transaction: WireTransaction): AccountKeys | undefined {
  const { message } = transaction;
  const writable: Address[] = [];
  const readonly: Address[] = [];
  for (const lookup of lookupTables(message)) {
    const table = readAccount(svm, lookup.lookupTableAddress);
    if (table?.programAddress !== LOOKUP_TABLE_PROGRAM) return undefined;
    const load = (index: number): Address | undefined => {
      const offset = LOOKUP_TABLE_HEADER + 32 * index;
      return offset + 32 <= table.data.length ? addressDecoder.decode(table.data, offset) : undefined;
    };
    for (const [indexes, into] of [
      [lookup.writableIndexes, writable],
      [lookup.readonlyIndexes, readonly],
    ] as const) {
      for (const index of indexes) {
        const address = load(index);
        if (address === undefined) return undefined;
        into.push(address);
      }
    }
  }
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header;
  const statics = message.staticAccounts.length;
  return {
    all: [...message.staticAccounts, ...writable, ...readonly],
    loaded: { writable, readonly },
    isSigner: (index) => index < numSignerAccounts,
    isWritable: (index) => {
      if (index < numSignerAccounts) return index < numSignerAccounts - numReadonlySignerAccounts;
      if (index < statics) return index < statics - numReadonlyNonSignerAccounts;
      return index < statics + writable.length;
    },
  };
}

/** Effects of a transaction, successful or failed. */
export interface Execution {
  readonly err: TransactionError | null;
  readonly logs: readonly string[];
  /** Calls between programs, one list per top-level instruction. */
  readonly innerInstructions: readonly (readonly CompiledInstruction[])[];
  readonly computeUnits: bigint;
  readonly returnData: { readonly program: Address; readonly data: Uint8Array } | null;
}

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
