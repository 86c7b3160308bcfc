import type { JsonObject } from "../../domain/core/json.ts";
import type { Span } from "../../domain/core/span.ts";

/** A server's description of an operation. */
export interface BackendDescription {
  /** The server's own text, used if the operator wrote none. */
  readonly description: string | undefined;
  /** Object schema of the parameters (JSON Schema of any draft). Every `$ref` points inside it. */
  readonly inputSchema: JsonObject;
  /** Resolves a field of a gRPC response; undefined for other servers. @throws Error for the operator */
  readonly fieldPath?: (field: string) => readonly string[];
}

export interface BackendAnswer {
  /** For the caller. */
  readonly result: JsonObject;
  /** HTTP headers or gRPC metadata, names in lower case. Undefined for MCP. */
  readonly headers?: Readonly<Record<string, string>>;
  /** HTTP or gRPC trailers, names in lower case. Undefined for MCP. */
  readonly trailers?: Readonly<Record<string, string>>;
  /** `_meta` of an MCP result. */
  readonly meta?: JsonObject;
}

export interface BackendCall {
  /** Aborts on timeout, cancellation or shutdown. */
  readonly signal: AbortSignal;
  /** Forwarded to the server. Undefined for calls without a run. */
  readonly idempotencyKey: string | undefined;
  /** Step of the request to the server, which receives its headers; undefined where nothing is traced. */
  readonly span?: Span | undefined;
}

/** One operation of an external server, offered as a custom tool. */
export interface Backend {
  /** Whether the description is known, so that {@link describe} needs no server. */
  readonly described?: boolean;
  /** Describes the operation; queries the server if needed. @throws Error with a message for the operator */
  describe(signal: AbortSignal): Promise<BackendDescription>;
  /** Forgets the description, which cannot be used: the next {@link describe} asks the server again. */
  forget?(): void;
  /** Checks what the schema cannot express, before a quote. @throws ToolgateError INVALID_REQUEST */
  check?(params: JsonObject): void;
  /** Calls the operation; retries only what certainly did not arrive. @throws ToolgateError (failure.ts) */
  call(params: JsonObject, call: BackendCall): Promise<BackendAnswer>;
  close(): Promise<void>;
}
