import type { IncomingHttpHeaders, Settings } from "node:http2";
import { HEAD_LIMIT } from "../http/parse-error.ts";

/** Sent to clients, and enforced once they acknowledge it. */
export const HEADER_SETTINGS: Settings = { maxHeaderListSize: HEAD_LIMIT };

/** At most eight digits and a unit (gRPC over HTTP/2, "Timeout"). */
const TIMEOUT_LENGTH = 9;

/**
 * Removes headers that are slow in grpc-js: binary metadata, which it splits at each comma, and long
 * timeouts. When the headers exceed the limit in spite of the settings, removes all; the request then fails
 * without a content type.
 */
export function reduceHeaders(headers: IncomingHttpHeaders): void {
  let size = 0;
  for (const name of Object.keys(headers)) {
    size += sizeOf(name, headers[name]);
    if (name.endsWith("-bin")) delete headers[name];
  }
  const timeout = headers["grpc-timeout"];
  if (timeout !== undefined && timeout.length > TIMEOUT_LENGTH) headers["grpc-timeout"] = "invalid";
  if (size <= HEAD_LIMIT) return;
  for (const name of Object.keys(headers)) if (!name.startsWith(":")) delete headers[name];
}

/** Returns the size of a header (RFC 9113 section 6.5.2). */
function sizeOf(name: string, value: string | string[] | undefined): number {
  const values = Array.isArray(value) ? value : [value ?? ""];
  return values.reduce((sum, { length }) => sum + name.length + length + 32, 0);
}
