import type { IncomingHttpHeaders, Settings } from "node:http2";
import { HEAD_LIMIT } from "../http/parse-error.ts";

/** Announced to callers, and held to once they acknowledge it. */
export const HEADER_SETTINGS: Settings = { maxHeaderListSize: HEAD_LIMIT };

/** A timeout has eight digits and a unit at most (gRPC over HTTP/2, "Timeout"). */
const TIMEOUT_LENGTH = 9;

/**
 * Takes out what grpc-js would spend much time on, before it sees a request: binary metadata, of which none is read and which it
 * splits into a buffer for each comma; a long timeout; and all headers of a caller that sends too many in spite of the settings,
 * which leaves a request without a content type.
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

/** Of a header (RFC 9113 section 6.5.2). */
function sizeOf(name: string, value: string | string[] | undefined): number {
  const values = Array.isArray(value) ? value : [value ?? ""];
  return values.reduce((sum, { length }) => sum + name.length + length + 32, 0);
}
