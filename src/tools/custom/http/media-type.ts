/** Returns the media type in lower case, without parameters (RFC 9110, 8.3.1). */
export function mediaTypeOf(written: string): string {
  return (written.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** `application/json` or a `+json` type (RFC 6839, 3.1). */
export function isJsonType(mediaType: string): boolean {
  return /^application\/(?:json|[\w.!#$&^-]+\+json)$/.test(mediaType);
}

/** Returns the `charset` of a Content-Type; UTF-8 by default. */
export function charsetOf(contentType: string): string {
  return /;\s*charset\s*=\s*"?([\w.:-]+)"?/i.exec(contentType)?.[1] ?? "utf-8";
}

/** Whether a media type matches the documented ones (ranges too; empty: any). All JSON types match. */
export function isDocumented(mediaType: string, documented: readonly string[]): boolean {
  const kinds = documented.map(mediaTypeOf);
  return (
    kinds.length === 0 ||
    kinds.some((kind) => {
      if (kind === "*/*" || kind === mediaType) return true;
      if (kind.endsWith("/*")) return mediaType.startsWith(kind.slice(0, -1));
      return isJsonType(kind) && isJsonType(mediaType);
    })
  );
}
