import { CACHING, CAPABILITIES, INSTRUCTIONS, SERVER_INFO } from "./server-info.ts";
import { MODERN_REVISIONS } from "./revision.ts";

/** The result of any method. */
export interface Result {
  readonly [member: string]: unknown;
  readonly _meta?: object;
}

/**
 * Adds the members that revision 2026-07-28 requires: result type and server info (Overview, result responses
 * and `_meta`).
 */
export function modernResult(result: Result): object {
  return {
    resultType: "complete",
    ...result,
    _meta: { ...result._meta, "io.modelcontextprotocol/serverInfo": SERVER_INFO },
  };
}

/** `server/discover`: lists only the revisions that work without `initialize`. */
export function discover(): Result {
  return {
    supportedVersions: MODERN_REVISIONS,
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
    ...CACHING,
  };
}
