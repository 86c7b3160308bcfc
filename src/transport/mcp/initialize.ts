import type { JsonObject } from "../../domain/core/json.ts";
import type { Result } from "./modern-result.ts";
import { LEGACY_REVISIONS } from "./revision.ts";
import { invalidParams } from "./rpc-error.ts";
import { CAPABILITIES, INSTRUCTIONS, SERVER_INFO } from "./server-info.ts";

/**
 * MCP lifecycle, initialization: returns the requested revision if supported, otherwise the newest with
 * `initialize`. Creates no session.
 */
export function initialize(params: JsonObject | undefined): Result {
  const asked = params?.["protocolVersion"];
  if (typeof asked !== "string")
    throw invalidParams("params.protocolVersion", "must be a string such as 2025-11-25");
  return {
    protocolVersion: LEGACY_REVISIONS.includes(asked) ? asked : LEGACY_REVISIONS[0],
    capabilities: CAPABILITIES,
    serverInfo: SERVER_INFO,
    instructions: INSTRUCTIONS,
  };
}
