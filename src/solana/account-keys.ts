import { MalformedAnswer } from "./rpc-failure.ts";
import type { TransactionJson, TransactionMeta } from "./transaction-json.ts";

/** The accounts of a transaction in the order in which instructions and balances number them. */
export class AccountKeys {
  readonly #keys: readonly string[];

  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  /** @throws MalformedAnswer for a number without an account */
  at(index: number): string {
    const key = this.#keys[index];
    if (key === undefined)
      throw new MalformedAnswer(`account ${index} is not among the transaction's ${this.#keys.length}`);
    return key;
  }

  /** The number of an account; undefined when the transaction does not name it. @throws MalformedAnswer when it names it twice, which the chain forbids */
  find(key: string): number | undefined {
    const index = this.#keys.indexOf(key);
    if (index !== this.#keys.lastIndexOf(key)) throw new MalformedAnswer("an account is listed twice");
    return index === -1 ? undefined : index;
  }
}

/**
 * Lists the accounts: those of the message, then those that it looks up in address tables, writable ones first.
 * @throws MalformedAnswer when the looked-up addresses are not as many as the message asks for: every later number would be off
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
