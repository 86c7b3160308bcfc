import { decodeBase64 } from "../core/base64.ts";
import { malformedProof } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";

// Readers for members of a JSON proof. Own members only: inherited ones were not sent. Paths start with the
// carrier's name, so that errors say where to look.

/** Maximum transaction size, bytes (Solana, `PACKET_DATA_SIZE`). */
const MAX_TRANSACTION_BYTES = 1232;

type Members = Readonly<Record<string, unknown>>;

export function member(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** @throws ToolgateError INVALID_PAYMENT 400 unless it is absent or a non-empty string */
export function textMember(members: Members, name: string, path: string): string | undefined {
  const value = member(members, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string" || value === "")
    throw malformedProof(`${path}${name} must be a non-empty string`);
  return value;
}

/**
 * @throws ToolgateError INVALID_PAYMENT 400 unless it is absent, null (as some clients write it) or an
 * object
 */
export function objectMember(members: Members, name: string, path: string): Members | undefined {
  const value = member(members, name);
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw malformedProof(`${path}${name} must be an object`);
  return value;
}

/** Returns the wire bytes of a base64 transaction. @throws ToolgateError INVALID_PAYMENT 400 */
export function transactionMember(members: Members, name: string, path: string): Uint8Array {
  const text = textMember(members, name, path);
  if (text === undefined)
    throw malformedProof(`${path}${name} is missing; send the transaction that you signed, in base64`);
  const bytes = decodeBase64(text, ["base64"]);
  if (typeof bytes === "string") throw malformedProof(`${path}${name}: ${bytes}`);
  if (bytes.length > MAX_TRANSACTION_BYTES)
    throw malformedProof(
      `${path}${name}: has ${bytes.length} bytes, and a transaction at most ${MAX_TRANSACTION_BYTES}`,
    );
  return bytes;
}
