import { JsonFieldError, parseBody } from "#httpjson/runtime/index.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { RPC_ERROR } from "./rpc-error.ts";

/** A body that is neither JSON-RPC nor a tool call: INVALID_REQUEST with a JSON-RPC error code. */
export class UnreadableMessageError extends ToolgateError {
  readonly rpcCode: number;

  constructor(rpcCode: number, message: string) {
    super("INVALID_REQUEST", message);
    this.rpcCode = rpcCode;
  }
}

/**
 * Parses the body of an MCP request.
 * @throws UnreadableMessageError for invalid JSON
 */
export function parseMessage(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw new UnreadableMessageError(RPC_ERROR.parse, "body: is missing");
  try {
    return parseBody(bytes);
  } catch (error) {
    if (error instanceof JsonFieldError) throw new UnreadableMessageError(RPC_ERROR.parse, error.message);
    throw error;
  }
}
