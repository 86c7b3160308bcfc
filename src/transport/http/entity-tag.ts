import { createHash } from "node:crypto";

/** Returns the entity tag of a body (RFC 9110 section 8.8.3), without quotes. */
export function tagOf(body: Buffer): string {
  return createHash("sha256").update(body).digest("base64url").slice(0, 27);
}

/**
 * Returns whether If-None-Match contains this tag by weak comparison (RFC 9110 section 13.1.2). Searches the
 * text instead of splitting it: a head has room for 15,000 tags.
 * @param etag with its quotes
 */
export function hasVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch === "*" || ifNoneMatch.includes(etag));
}
