const ALPHABETS = { base64: /^[A-Za-z0-9+/]*={0,2}$/, base64url: /^[A-Za-z0-9_-]*={0,2}$/ } as const;

/** The alphabets of RFC 4648, sections 4 and 5. */
export type Base64Alphabet = keyof typeof ALPHABETS;

/**
 * Reads base64, padding optional, whose text is one of the two that its bytes can have: else the same bytes could be sent under many names.
 * @param alphabets the first one that fits is read
 * @returns the bytes, or what is wrong as the end of a sentence that begins with the field's name
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
