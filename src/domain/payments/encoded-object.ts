import { malformedProof } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";

const ALPHABETS = { base64: /^[A-Za-z0-9+/]*={0,2}$/, base64url: /^[A-Za-z0-9_-]*={0,2}$/ } as const;

/** The alphabets of RFC 4648, sections 4 and 5. */
type Base64Alphabet = keyof typeof ALPHABETS;

/**
 * Decodes canonical base64, padding optional. Other encodings of the same bytes are refused.
 * @param alphabets tried in this order
 * @returns the bytes, or the problem as the end of a sentence that starts with the field's name
 */
export function decodeBase64(text: string, alphabets: readonly Base64Alphabet[]): Buffer | string {
  const alphabet = alphabets.find((one) => ALPHABETS[one].test(text));
  if (!alphabet || text === "") return `not ${alphabets.join(" or ")}`;
  const bytes = Buffer.from(text, alphabet);
  if (bytes.toString(alphabet).replace(/=+$/, "") !== text.replace(/=+$/, ""))
    return "not canonical base64 (stray bits or characters at the end)";
  if (text.includes("=") && text.length % 4 !== 0) return "wrong base64 padding";
  return bytes;
}

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
