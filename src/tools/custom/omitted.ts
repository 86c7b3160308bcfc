import type { JsonObject } from "../../domain/json.ts";

/** Why a part of an answer, or all of it, is not delivered. */
export type OmissionReason = "too_deep" | "too_long" | "not_json";

/**
 * Stands in a result for what is not delivered.
 * @param bytes of what is left out, as JSON or as the server counted it; null where that is not known
 */
export function omitted(because: OmissionReason, reason: string, bytes: number | null): JsonObject {
  return { omitted: because, reason, bytes };
}
