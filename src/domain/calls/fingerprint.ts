import { createHash, hash } from "node:crypto";
import canonicalize from "canonicalize";
import { ToolgateError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";

/**
 * Identifies a call: SHA-256 of the canonical JSON (RFC 8785) of `{params, tool}`, 32 bytes. Without proof
 * and key, so that the paid retry has the same fingerprint.
 * @throws ToolgateError INVALID_REQUEST for values without a canonical form: lone surrogates, numbers
 * beyond double (RFC 8785 section 3.2.2)
 */
export function fingerprint(tool: string, params: JsonObject): Buffer {
  // A digest as text is faster than as a buffer.
  return Buffer.from(hash("sha256", canonical({ params, tool }), "binary"), "latin1");
}

/** Returns the fingerprint of a call and of what the gateway chose for it, for a quote. */
export function withChoice(print: Buffer, choice: string | undefined): Buffer {
  return choice === undefined ? print : createHash("sha256").update(print).update(choice).digest();
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
