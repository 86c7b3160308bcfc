import type { JsonObject } from "../../domain/core/json.ts";

export type OmissionReason = "too_deep" | "too_long" | "not_json";

/** Returns the placeholder for an omitted part. @param bytes as JSON or as reported; null if unknown */
export function omitted(because: OmissionReason, reason: string, bytes: number | null): JsonObject {
  return { omitted: because, reason, bytes };
}
