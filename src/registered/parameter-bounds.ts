import { invalidField } from "../domain/errors.ts";
import { fieldPath } from "../domain/field-path.ts";
import type { JsonObject } from "../domain/json.ts";
import { MOST_BYTES, sizeOf } from "./result-check.ts";

/** Levels that parameters may nest: fewer than results, so that a server that repeats them stays within those. */
const DEEPEST_PARAMETERS = 24;

/** @throws ToolgateError INVALID_REQUEST for parameters that a server could not repeat within the bounds of results */
export function requireBounded(params: JsonObject, maxResponseBytes: number): void {
  for (const [member, value] of Object.entries(params)) {
    if (sizeOf(value, DEEPEST_PARAMETERS - 1) === undefined)
      throw invalidField(
        fieldPath([member]),
        `must not nest deeper than ${DEEPEST_PARAMETERS} levels with params`,
      );
  }
  const most = Math.floor(maxResponseBytes / 2);
  const size = sizeOf(params, DEEPEST_PARAMETERS) ?? 0;
  if (size > MOST_BYTES / 2 || Buffer.byteLength(JSON.stringify(params)) > most)
    throw invalidField(
      "params",
      `must not be longer than ${most} bytes as JSON, or ${MOST_BYTES / 2} as protobuf`,
    );
}
