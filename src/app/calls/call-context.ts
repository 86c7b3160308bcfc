import type { Caller } from "../../domain/accounts/caller.ts";
import type { ProgressListener } from "../../domain/tools/tool.ts";

/** What a door knows of the request that it hands to a use case. */
export interface CallContext {
  readonly caller: Caller;
  /** `req_…` */
  readonly requestId: string;
  /** Aborts when the caller has gone away or its deadline has passed. */
  readonly signal: AbortSignal;
  /** Tells the caller how far the call has come; undefined where nobody asked for it. */
  readonly progress?: ProgressListener | undefined;
}
