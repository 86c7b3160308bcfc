const ALPHABETS = { base64: /^[A-Za-z0-9+/]*={0,2}$/, base64url: /^[A-Za-z0-9_-]*={0,2}$/ } as const;

/** The alphabets of RFC 4648, sections 4 and 5. */
export type Base64Alphabet = keyof typeof ALPHABETS;

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
