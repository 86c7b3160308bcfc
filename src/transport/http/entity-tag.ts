import { createHash } from "node:crypto";

/** The entity tag of a body (RFC 9110 section 8.8.3), without its quotes. */
export function tagOf(body: Buffer): string {
  return createHash("sha256").update(body).digest("base64url").slice(0, 27);
}

/**
 * Whether If-None-Match names this version, by the weak comparison (RFC 9110 section 13.1.2). The list is searched, not split: a head
 * has room for 15,000 tags.
 * @param etag with its quotes
 */
export function hasVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch === "*" || ifNoneMatch.includes(etag));
}
