/** Codes of JSON-RPC 2.0 section 5.1, and from -32020 of MCP (revision 2026-07-28, Overview, error codes). */
export const RPC_ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

/** An error of the protocol, not of the gateway. */
export class JsonRpcError extends Error {
  readonly code: number;
  /** HTTP status; most errors of a method use 200. */
  readonly status: number;
  readonly data: object | undefined;

  constructor(
    code: number,
    message: string,
    { status = 200, data }: { status?: number; data?: object } = {},
  ) {
    super(message.toWellFormed());
    this.name = "JsonRpcError";
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

/** Returns -32602 with the path of the invalid member. */
export function invalidParams(path: string, problem: string): JsonRpcError {
  return new JsonRpcError(RPC_ERROR.invalidParams, `${path}: ${problem}`);
}

/** Quotes client text in a message, at most 128 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 128));
}
