import type { Caller } from "../accounts/caller.ts";
import type { JsonObject } from "../core/json.ts";
import type { AttachedTexts, ChatModel, ModelAlias } from "./chat.ts";
import type { Span } from "../core/span.ts";
import type { MicroUsd } from "../core/money.ts";
import type { Scope } from "../accounts/scope.ts";

/** Hints for clients that ask before a call (MCP, ToolAnnotations). A paid call is never read-only. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint: boolean;
}

/** Largest message of a call that a tool takes unless it says so, bytes: it is read before it is paid. */
export const SMALL_PARAMS_BYTES = 64 * 1024;

/**
 * A tool of the catalogue. Read status, description and schema each time: a tool that depends on an
 * external service is unavailable until that works.
 */
export interface Tool {
  readonly name: string;
  readonly status: "active" | "coming_soon";
  /** Why it is unavailable, for callers; undefined: it is not, or it was never offered. */
  readonly unavailableReason?: string | undefined;
  readonly billable: boolean;
  readonly description: string;
  /** Required scope; undefined: any valid key. */
  readonly scope: Scope | undefined;
  /** JSON Schema (2020-12) of the parameters. */
  readonly inputSchema: JsonObject;
  /** Price of every call; undefined for free tools and for prices that depend on the parameters. */
  readonly fixedPrice: MicroUsd | undefined;
  /** The most that a call costs whose price depends on the parameters; undefined: it has no bound. */
  readonly maxPrice?: MicroUsd | undefined;
  /** Whether a call is charged what it used, at most its price. */
  readonly metered?: boolean;
  /** Largest message of a call, bytes; undefined: {@link SMALL_PARAMS_BYTES}. */
  readonly maxParamsBytes?: number | undefined;
  /** Undefined if unknown. */
  readonly annotations?: ToolAnnotations | undefined;
  /**
   * Validates the parameters and computes the price. No side effects.
   * @throws ToolgateError INVALID_REQUEST naming the field by its path, e.g. `params.message`
   */
  prepare(params: JsonObject): PreparedCall;
  /** As `prepare`, with checks that take long in another thread. Undefined: none does. */
  prepareFor?(params: JsonObject, by: CheckedFor | undefined): PreparedCall | Promise<PreparedCall>;
  /** Undefined: no API of language models has such a call. */
  readonly modelApi?: ModelApi;
}

/** The request whose parameters are checked, and what that takes. */
export interface CheckedFor {
  /** The account or the address. */
  readonly payer: string | undefined;
  /** CPU time of other threads, ms. */
  threadMs: number;
}

/** The API of a call's body and its result: OpenAI's own, Anthropic's Messages, OpenAI's Responses. */
export type Form = "openai" | "messages" | "responses";

export interface ModelApi {
  readonly forms: ReadonlySet<Form>;
  readonly models: readonly ChatModel[];
  readonly aliases?: readonly ModelAlias[];
  /** As {@link Tool.prepare}, for a body of one of the forms, whose answer is the result. */
  prepare(form: Form, body: JsonObject): PreparedCall;
}

export type ListedTool = Pick<
  Tool,
  | "name"
  | "status"
  | "unavailableReason"
  | "billable"
  | "description"
  | "inputSchema"
  | "fixedPrice"
  | "maxPrice"
  | "metered"
>;

export interface PreparedCall {
  /**
   * The most that the call costs; 0n if free. Throws INVALID_REQUEST if only an earlier quote can still be
   * paid.
   */
  readonly price: MicroUsd;
  /**
   * Runs the tool; synchronous when nothing is awaited.
   * @throws ToolgateError TOOL_FAILED or UNAVAILABLE; neither is charged
   */
  run(context: ToolContext): JsonObject | Promise<JsonObject>;
  /** Estimate of the tokens of a prompt; undefined where nothing counts tokens. */
  readonly promptTokens?: number | undefined;
  /** What the gateway chose for the call; undefined: nothing was to be chosen. */
  readonly choice?: CallChoice | undefined;
}

/** A choice such as the model of an alias. A quote seals it, and its payment buys the call with it. */
export interface CallChoice {
  readonly name: string;
  quoted(isQuoted: (name: string) => boolean): PreparedCall | undefined;
}

/** Receives a result in parts, while the tool produces it. */
export interface ResultSink {
  /** @returns a promise that resolves when the caller can take more; undefined: at once */
  write(part: JsonObject): Promise<void> | undefined;
  /** Aborts when the caller takes no more: the result ends there. */
  readonly closed: AbortSignal;
}

/** Progress of a call (MCP): `progress` grows with each step; `total` if the end is known. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Never throws. */
export type ProgressListener = (progress: Progress) => void;

export interface ToolContext {
  readonly caller: Caller;
  /** Undefined for calls without a run. */
  readonly runId: string | undefined;
  /**
   * Key for upstream servers: equal for each run of one claim (idempotency key or payment) and different
   * for every other claim; the run's own without a claim. Undefined without a run.
   */
  readonly idempotencyKey: string | undefined;
  /** Aborts when the result is no longer wanted. */
  readonly signal: AbortSignal;
  /** Step of the tool; undefined where nothing is traced. */
  readonly span?: Span | undefined;
  /** Undefined unless requested. */
  readonly progress?: ProgressListener | undefined;
  /** Undefined: the result is only returned. Tools that cannot write parts only return it. */
  readonly output?: ResultSink | undefined;
  readonly attached?: AttachedTexts | undefined;
  /**
   * Reports what the call has used, micro-USD; the last report counts. Without one a result is charged its
   * price. Undefined if nothing is charged.
   */
  readonly meter?: ((used: MicroUsd) => void) | undefined;
  /** Reports the model of the call; the last report counts. */
  readonly noteModel?: ((use: ModelUse) => void) | undefined;
}

export interface ModelUse {
  readonly model: string;
  /** What its server charges the operator, micro-USD; undefined: unknown. */
  readonly cost?: MicroUsd | undefined;
}
