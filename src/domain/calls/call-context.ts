import type { Caller } from "../accounts/caller.ts";
import type { ProgressListener } from "../tools/tool.ts";

/** The context of a request that a transport passes to a use case. */
export interface CallContext {
  readonly caller: Caller;
  /** `req_…` */
  readonly requestId: string;
  /** Aborts when the caller disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /** Reports progress to the caller; undefined unless requested. */
  readonly progress?: ProgressListener | undefined;
}
