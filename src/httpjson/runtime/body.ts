import { JsonFieldError } from "./json-error.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Whether a Content-Type is JSON, without a charset or with UTF-8 (RFC 8259 8.1). Others get 415. */
export function isJsonContentType(contentType: string | undefined): boolean {
  return (
    contentType !== undefined &&
    /^\s*application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(contentType)
  );
}

/**
 * Parses a request body. The last of duplicate names wins, as JSON.parse does not report them.
 *
 * @returns the JSON value; undefined when the body is empty
 * @throws JsonFieldError when it is not UTF-8 or not JSON
 */
export function parseBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) {
    return undefined;
  }
  try {
    const json: unknown = JSON.parse(utf8.decode(bytes));
    return json;
  } catch {
    throw new JsonFieldError("", "must be JSON in UTF-8");
  }
}
