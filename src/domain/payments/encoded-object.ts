import { decodeBase64, type Base64Alphabet } from "../core/base64.ts";
import { malformedProof } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";

/** Maximum length of a header. */
export const MAX_ENCODED_LENGTH = 8192;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes a header: base64 of a JSON object in UTF-8.
 * @throws ToolgateError INVALID_PAYMENT 400 that starts with the header's name
 */
export function decodeObject(
  name: string,
  header: string,
  alphabets: readonly Base64Alphabet[],
): Record<string, unknown> {
  const object = objectIn(header, alphabets);
  if (typeof object === "string") throw malformedProof(`${name}: ${object}`);
  return object;
}

/** Like {@link decodeObject}. @returns the object, or the problem */
export function objectIn(
  header: string,
  alphabets: readonly Base64Alphabet[],
): Record<string, unknown> | string {
  if (header.length > MAX_ENCODED_LENGTH) return `longer than ${MAX_ENCODED_LENGTH} characters`;
  const bytes = decodeBase64(header, alphabets);
  if (typeof bytes === "string") return bytes;
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below with JSON that is no object.
  }
  return "does not decode to a JSON object in UTF-8";
}
