/** A media type without its parameters, in lower case (RFC 9110, 8.3.1). */
export function mediaTypeOf(written: string): string {
  return (written.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** `application/json`, and what is built on it (RFC 6839, 3.1). */
export function isJsonType(mediaType: string): boolean {
  return /^application\/(?:json|[\w.!#$&^-]+\+json)$/.test(mediaType);
}

/** `charset` of a Content-Type; UTF-8 when it has none. */
export function charsetOf(contentType: string): string {
  return /;\s*charset\s*=\s*"?([\w.:-]+)"?/i.exec(contentType)?.[1] ?? "utf-8";
}

/**
 * Whether an answer is of one of the kinds that the document promises, which may be ranges such as `text/*`; all kinds of JSON are one.
 * @param promised empty: the document does not say
 */
export function isDocumented(mediaType: string, promised: readonly string[]): boolean {
  const kinds = promised.map(mediaTypeOf);
  return (
    kinds.length === 0 ||
    kinds.some((kind) => {
      if (kind === "*/*" || kind === mediaType) return true;
      if (kind.endsWith("/*")) return mediaType.startsWith(kind.slice(0, -1));
      return isJsonType(kind) && isJsonType(mediaType);
    })
  );
}
