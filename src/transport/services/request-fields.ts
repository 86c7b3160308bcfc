import type { Caller } from "../../domain/accounts/caller.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

/** Returns the key id of a filter; undefined when empty. @throws ToolgateError INVALID_REQUEST at `path` */
export function keyIdIn(path: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (uuidOf("key", text) === undefined) throw invalidField(path, "must be a key's identifier, key_…");
  return text;
}

/** Returns the account to read, the caller's by default. @throws ToolgateError FORBIDDEN, INVALID_REQUEST */
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

/** Returns the tool of a filter; undefined if empty. @throws ToolgateError INVALID_REQUEST at `path` */
export function toolIn(path: string, text: string | undefined, what = "tool"): string | undefined {
  if (text === undefined || text === "") return undefined;
  // PostgreSQL text cannot contain NUL.
  if (/\p{Cc}/u.test(text)) throw invalidField(path, `must be a ${what}'s name, without control characters`);
  return text;
}

/** As {@link toolIn}, of a model. */
export function modelIn(path: string, text: string | undefined): string | undefined {
  return toolIn(path, text, "model");
}

/** 1 to 255 printable ASCII characters, as in the body (toolgate.v1.CallToolRequest). */
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * Returns the idempotency key of the body, or of the Idempotency-Key header
 * (draft-ietf-httpapi-idempotency-key-header section 2.1).
 * @throws ToolgateError INVALID_REQUEST when the header is invalid or differs from the body
 */
export function idempotencyKeyOf(member: string | undefined, header: string | undefined): string | undefined {
  if (header === undefined) return member;
  if (!PRINTABLE.test(header))
    throw new ToolgateError(
      "INVALID_REQUEST",
      "Idempotency-Key: must be 1 to 255 printable ASCII characters",
    );
  if (member !== undefined && member !== header) {
    throw new ToolgateError(
      "INVALID_REQUEST",
      "idempotency_key: differs from the Idempotency-Key header; send one of them",
    );
  }
  return header;
}

/** Years 1 to 9999, seconds since the Unix epoch (google.protobuf.Timestamp). */
const [FIRST, LAST] = [-62_135_596_800n, 253_402_300_799n];

/** Returns a date in ms; undefined when absent. @throws ToolgateError INVALID_REQUEST out of range */
export function dateIn(path: string, timestamp: Timestamp | undefined): Date | undefined {
  if (!timestamp) return undefined;
  const { seconds, nanos } = timestamp;
  if (seconds < FIRST || seconds > LAST || nanos < 0 || nanos > 999_999_999) {
    throw invalidField(path, "must be a timestamp between the years 1 and 9999");
  }
  return new Date(Number(seconds) * 1000 + Math.floor(nanos / 1_000_000));
}
