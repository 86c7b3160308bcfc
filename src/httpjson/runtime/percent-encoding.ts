import { JsonFieldError, shorten } from "./json-error.ts";

/** Decodes percent escapes. @throws JsonFieldError at `path` if malformed or not UTF-8 */
export function decodeEscapes(text: string, path: string): string {
  if (!text.includes("%")) {
    return text;
  }
  try {
    return decodeURIComponent(text);
  } catch {
    throw new JsonFieldError(shorten(path), "has a malformed percent escape");
  }
}

/** One spelling for a path segment (RFC 3986 6.2.2): unreserved characters bare, escapes in upper case. */
export function normaliseEscapes(segment: string): string {
  if (!segment.includes("%")) {
    return segment;
  }
  return segment.replace(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : escape.toUpperCase();
  });
}
