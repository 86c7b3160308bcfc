import { JsonFieldError, parseBody } from "#httpjson/runtime/index.ts";
import { ToolgateError } from "../../domain/errors.ts";
import { isJsonObject } from "../../domain/json.ts";
import { RPC_ERROR } from "./message.ts";

/** A body that is neither a JSON-RPC message nor a tool call: INVALID_REQUEST, and the error of JSON-RPC that says so. */
export class UnreadableMessageError extends ToolgateError {
  readonly rpcCode: number;

  constructor(rpcCode: number, message: string) {
    super("INVALID_REQUEST", message);
    this.rpcCode = rpcCode;
  }
}

/**
 * Parses the body of a request to the MCP endpoint (JSON-RPC 2.0 sections 4 and 5.1).
 * @throws UnreadableMessageError for what is not JSON, and for what is no object: batches are none of MCP's since 2025-06-18
 */
export function parseMessage(bytes: Uint8Array): Record<string, unknown> {
  const body = parsed(bytes);
  if (isJsonObject(body)) return body;
  throw new UnreadableMessageError(
    RPC_ERROR.invalidRequest,
    "body: must be one object, a JSON-RPC message or a tool call",
  );
}

function parsed(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw new UnreadableMessageError(RPC_ERROR.parse, "body: is missing");
  try {
    return parseBody(bytes);
  } catch (error) {
    if (error instanceof JsonFieldError) throw new UnreadableMessageError(RPC_ERROR.parse, error.message);
    throw error;
  }
}
