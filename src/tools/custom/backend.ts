import type { JsonObject } from "../../domain/json.ts";

/** What a server says of an operation that is to become a tool. */
export interface BackendDescription {
  /** In the server's own words; undefined: it says nothing. The operator's words come first. */
  readonly description: string | undefined;
  /** JSON Schema (2020-12) of the parameters: an object schema, self-contained (every `$ref` leads into it). */
  readonly inputSchema: JsonObject;
}

/** What a backend may know of the call it works for. */
export interface BackendCall {
  /** Aborts when the tool's time limit has passed, or the work is no longer wanted. */
  readonly signal: AbortSignal;
  /** For the server's own idempotency; undefined for calls that leave no run. */
  readonly idempotencyKey: string | undefined;
}

/** What stands behind a registered tool: one operation of somebody else's server. */
export interface Backend {
  /**
   * What the operation takes. Asks the server where only that knows.
   * @throws Error with a sentence for the operator: what is wrong, and what to do
   */
  describe(signal: AbortSignal): Promise<BackendDescription>;
  /**
   * What the schema cannot say of parameters that it has accepted; before anything is quoted or sent. Left out: there is nothing of that kind.
   * @throws ToolgateError INVALID_REQUEST naming the field by its path
   */
  check?(params: JsonObject): void;
  /**
   * Does the work with parameters that the schema has accepted, once: nothing is sent twice unless the server cannot have seen it.
   * Of an answer that is only too long the result says so (see omitted.ts).
   * @throws ToolgateError TOOL_FAILED or UNAVAILABLE (see failure.ts); nothing is charged then
   */
  call(params: JsonObject, call: BackendCall): Promise<JsonObject>;
  /** Ends its connections. */
  close(): Promise<void>;
}
