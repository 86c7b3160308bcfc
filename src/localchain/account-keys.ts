import { getAddressDecoder, type Address } from "@solana/kit";
import type { LiteSVM } from "litesvm";
import { readAccount } from "./account-store.ts";
import { LOOKUP_TABLE_PROGRAM } from "./addresses.ts";
import { lookupTables, type WireTransaction } from "./wire-transaction.ts";

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
