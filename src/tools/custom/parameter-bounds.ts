import { invalidField } from "../../domain/core/errors.ts";
import { fieldPath } from "../../domain/core/field-path.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { MAX_RESULT_BYTES, sizeOf } from "./result-check.ts";

/** Below the limit of results, so that a server can echo the parameters. */
const MAX_PARAMETER_DEPTH = 24;

/**
 * Rejects parameters that could not be echoed within the limits of results.
 * @throws ToolgateError INVALID_REQUEST
 */
export function requireBounded(params: JsonObject, maxResponseBytes: number): void {
  for (const [member, value] of Object.entries(params)) {
    if (sizeOf(value, MAX_PARAMETER_DEPTH - 1) === undefined)
      throw invalidField(
        fieldPath([member]),
        `must not nest deeper than ${MAX_PARAMETER_DEPTH} levels with params`,
      );
  }
  const most = Math.floor(maxResponseBytes / 2);
  const size = sizeOf(params, MAX_PARAMETER_DEPTH) ?? 0;
  if (size > MAX_RESULT_BYTES / 2 || Buffer.byteLength(JSON.stringify(params)) > most)
    throw invalidField(
      "params",
      `must not be longer than ${most} bytes as JSON, or ${MAX_RESULT_BYTES / 2} as protobuf`,
    );
}
