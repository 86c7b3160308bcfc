import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import type { TransactionJson, TransactionMeta } from "./transaction-json.ts";

/** The accounts of a transaction, in the order that instructions and balances refer to. */
export class AccountKeys {
  readonly #keys: readonly string[];

  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  /** @throws MalformedAnswer for an index without an account */
  at(index: number): string {
    const key = this.#keys[index];
    if (key === undefined)
      throw new MalformedAnswer(`account ${index} is not among the transaction's ${this.#keys.length}`);
    return key;
  }

  /**
   * Returns the index of an account; undefined if the transaction does not name it.
   * @throws MalformedAnswer if it names it twice, which the chain forbids
   */
  find(key: string): number | undefined {
    const index = this.#keys.indexOf(key);
    if (index !== this.#keys.lastIndexOf(key)) throw new MalformedAnswer("an account is listed twice");
    return index === -1 ? undefined : index;
  }
}

/**
 * Lists the accounts: those of the message, then those looked up in address tables, writable ones first.
 * @throws MalformedAnswer if the number of looked-up addresses is wrong, since every later index would be off
 */
export function accountKeysOf(
  { transaction: { message } }: TransactionJson,
  meta: TransactionMeta,
): AccountKeys {
  const lookups = message.addressTableLookups ?? [];
  const writable = meta.loadedAddresses?.writable ?? [];
  const readonly = meta.loadedAddresses?.readonly ?? [];
  const asked = { writable: 0, readonly: 0 };
  for (const lookup of lookups) {
    asked.writable += lookup.writableIndexes.length;
    asked.readonly += lookup.readonlyIndexes.length;
  }
  if (asked.writable !== writable.length || asked.readonly !== readonly.length) {
    throw new MalformedAnswer("loadedAddresses does not match the message's address table lookups");
  }
  return new AccountKeys([...message.accountKeys, ...writable, ...readonly]);
}
