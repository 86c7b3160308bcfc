import type { Caller } from "../accounts/caller.ts";
import type { JsonObject } from "../core/json.ts";
import type { MicroUsd } from "../core/money.ts";
import type { Scope } from "../accounts/scope.ts";

/** What a tool does to the world, for whoever decides whether to ask before a call (MCP, ToolAnnotations). A call that costs money is never read-only. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint: boolean;
}

/**
 * A tool of the catalogue. One file in src/tools makes one. Status, description and schema may change while it is offered: a tool that
 * depends on something outside is announced until that is seen to work. So they are read each time, never kept.
 */
export interface Tool {
  readonly name: string;
  readonly status: "active" | "coming_soon";
  readonly billable: boolean;
  readonly description: string;
  /** What a key must be allowed to do; undefined: any valid key will do. */
  readonly scope: Scope | undefined;
  /** JSON Schema (2020-12) of the parameters. */
  readonly inputSchema: JsonObject;
  /** What every call costs; undefined for free tools and where the price depends on the parameters. */
  readonly fixedPrice: MicroUsd | undefined;
  /** Undefined where the service cannot know. */
  readonly annotations?: ToolAnnotations | undefined;
  /**
   * Checks the parameters and prices the call, without side effects.
   * @throws ToolgateError INVALID_REQUEST naming the field by its path, e.g. `params.message`
   */
  prepare(params: JsonObject): PreparedCall;
}

/** What anyone may read of a tool. */
export type ListedTool = Pick<
  Tool,
  "name" | "status" | "billable" | "description" | "inputSchema" | "fixedPrice"
>;

/** A call whose parameters are good. */
export interface PreparedCall {
  /** What the call costs; 0n for free tools. Throws INVALID_REQUEST where only a quote of before can still be paid. */
  readonly price: MicroUsd;
  /**
   * Does the work.
   * @throws ToolgateError TOOL_FAILED or UNAVAILABLE; either way nothing is charged
   */
  run(context: ToolContext): Promise<JsonObject>;
}

/** How far a call has come (MCP, progress): `progress` grows with each step; `total` where the end is known. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  /** For people. */
  readonly message?: string;
}

/** Hears of it. Never throws. */
export type ProgressListener = (progress: Progress) => void;

/** What a tool may know of the call it works for. */
export interface ToolContext {
  readonly caller: Caller;
  /** Undefined for calls that leave no run. */
  readonly runId: string | undefined;
  /**
   * For servers behind the tool, as a call can run again after a crash or a failure: the same for each run of one claim (an account's
   * idempotency key, or its payment), another for every other claim, and the run's own where there is no claim. Undefined without a run.
   */
  readonly idempotencyKey: string | undefined;
  /** Aborts when the work is no longer wanted. */
  readonly signal: AbortSignal;
  /** Undefined where nobody wants to know. */
  readonly progress?: ProgressListener | undefined;
}
