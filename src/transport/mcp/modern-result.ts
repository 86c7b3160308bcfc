import { CACHING, CAPABILITIES, INSTRUCTIONS, SERVER_INFO } from "./server-info.ts";
import { MODERN_REVISIONS } from "./revision.ts";

/** The result of any method. */
export interface Result {
  readonly [member: string]: unknown;
  readonly _meta?: object;
}

/** A result as revision 2026-07-28 wants it: it is the last word, and says who speaks (Overview, result responses and `_meta`). */
export function modernResult(result: Result): object {
  return {
    resultType: "complete",
    ...result,
    _meta: { ...result._meta, "io.modelcontextprotocol/serverInfo": SERVER_INFO },
  };
}

/** `server/discover`: what would otherwise be learnt by trying. Only revisions that are spoken without `initialize` are of use here. */
export function discover(): Result {
  return {
    supportedVersions: MODERN_REVISIONS,
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
    ...CACHING,
  };
}
