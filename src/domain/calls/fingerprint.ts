import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { ToolgateError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";

/**
 * What makes two calls the same call: SHA-256 of the canonical JSON (RFC 8785) of `{params, tool}`, 32 bytes.
 * The proof and the key stay outside, so that the paid repeat of a call is still that call.
 * @throws ToolgateError INVALID_REQUEST for what has no canonical form: lone surrogates, numbers beyond double (RFC 8785 section 3.2.2)
 */
export function fingerprint(tool: string, params: JsonObject): Buffer {
  return hash("sha256", canonical({ params, tool }), "buffer");
}

function canonical(call: JsonObject): string {
  try {
    return canonicalize(call) ?? "";
  } catch (cause) {
    throw new ToolgateError(
      "INVALID_REQUEST",
      "params: must be JSON of well-formed Unicode and finite numbers",
      {
        cause,
      },
    );
  }
}
