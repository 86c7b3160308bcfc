import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { RPC_ERROR } from "./rpc-error.ts";
import { UnreadableMessageError } from "./unreadable-message.ts";

/** Id of a JSON-RPC request (JSON-RPC 2.0 section 4; MCP forbids null). */
export type RequestId = string | number;

/** A request, or a notification when `id` is absent (JSON-RPC 2.0 section 4). */
export interface Message {
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/**
 * Parses a message. Written by hand because every request passes here.
 * @param path path of the message for errors
 * @returns undefined for a response: a stateless server sends no requests
 * @throws UnreadableMessageError for invalid JSON-RPC 2.0
 */
export function readMessage(body: unknown, path = "body"): Message | undefined {
  if (!isJsonObject(body)) throw invalidMessage(path, "must be an object");
  if (body["jsonrpc"] !== "2.0") throw invalidMessage(path, 'jsonrpc must be "2.0"');
  const { id, method, params } = body;
  if (typeof method !== "string") {
    if (isResponse(body)) return undefined;
    throw invalidMessage(path, "method must be a string");
  }
  if (id !== undefined && !isRequestId(id))
    throw invalidMessage(path, "id must be a string or a number up to 2^53 - 1");
  if (params !== undefined && !isJsonObject(params))
    throw invalidMessage(path, "params must be an object; omit it when there are none");
  return { id, method, params };
}

function invalidMessage(path: string, problem: string): UnreadableMessageError {
  return new UnreadableMessageError(
    RPC_ERROR.invalidRequest,
    `${path}: is not a JSON-RPC 2.0 request: ${problem}`,
  );
}

/** The id must survive a round trip: a client could not match another id to its paid call. */
function isRequestId(id: JsonValue): id is RequestId {
  if (typeof id === "number") return Math.abs(id) <= Number.MAX_SAFE_INTEGER;
  return typeof id === "string" && id.isWellFormed();
}

/** JSON-RPC 2.0 section 5. */
function isResponse({ id, method, result, error }: JsonObject): boolean {
  if (method !== undefined || (id !== undefined && id !== null && !isRequestId(id))) return false;
  return isJsonObject(result) || isJsonObject(error);
}

/** A successful answer (JSON-RPC 2.0 section 5). */
export function resultMessage(id: RequestId, result: object) {
  return { jsonrpc: "2.0", id, result };
}

/** A failed answer (JSON-RPC 2.0 section 5.1). `id` is null when the request had no valid one. */
export function errorMessage(id: RequestId | null, code: number, message: string, data?: unknown) {
  return { jsonrpc: "2.0", id, error: data === undefined ? { code, message } : { code, message, data } };
}
