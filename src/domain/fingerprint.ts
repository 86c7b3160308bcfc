import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonObject } from "./json.ts";

/**
 * What makes two calls the same call: SHA-256 of the canonical JSON (RFC 8785) of `{params, tool}`, 32 bytes.
 * The proof and the key stay outside, so that the paid repeat of a call is still that call.
 */
export function fingerprint(tool: string, params: JsonObject): Buffer {
  return createHash("sha256")
    .update(canonicalize({ params, tool }) ?? "")
    .digest();
}
