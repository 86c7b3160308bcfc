import type { Caller } from "../../domain/accounts/caller.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";

/**
 * Returns the key id of a filter; undefined when empty.
 * @param path path of the field
 * @throws ToolgateError INVALID_REQUEST for an invalid key id
 */
export function keyIdIn(path: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (uuidOf("key", text) === undefined) throw invalidField(path, "must be a key's identifier, key_…");
  return text;
}

/**
 * Returns the account to read: the one that the request names, or the caller's.
 * @throws ToolgateError FORBIDDEN for another account without the operator role; INVALID_REQUEST for an
 * invalid account id
 */
export function accountIdIn(accountId: string, caller: Caller): string {
  if (accountId === "" || accountId === caller.accountId) return caller.accountId;
  if (!caller.operator)
    throw new ToolgateError(
      "FORBIDDEN",
      "account_id: other accounts require the operator role; leave it out",
    );
  if (uuidOf("acct", accountId) === undefined)
    throw invalidField("account_id", "must be an account's identifier, acct_…");
  return accountId;
}
