import { JsonFieldError, parseBody } from "#httpjson/runtime/index.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { HttpResponse } from "../http/response.ts";

/** Codes of JSON-RPC 2.0 section 5.1, and from -32020 of MCP (revision 2026-07-28, Overview, error codes). */
export const RPC_ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
  // Only for clients that announce the scheme (draft-payment-transport-mcp): MCP reserves the code.
  paymentRequired: -32042,
  // The same code in 2025-11-25: `data` has `elicitations` in place of `challenges`.
  urlElicitationRequired: -32042,
  verificationFailed: -32043,
} as const;

/** Id of a JSON-RPC request (JSON-RPC 2.0 section 4; MCP forbids null). */
export type RequestId = string | number;

/** A request, or a notification when `id` is absent (JSON-RPC 2.0 section 4). */
export interface Message {
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** Returns the outcome of a request that failed by the protocol, for its record. */
export function outcomeOf({ code, status }: JsonRpcError): {
  status: number;
  code: "INVALID_REQUEST" | "NOT_FOUND";
} {
  if (code === RPC_ERROR.methodNotFound) return { status: 404, code: "NOT_FOUND" };
  return { status: status >= 400 ? status : 400, code: "INVALID_REQUEST" };
}

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

/** A body that is neither JSON-RPC nor a tool call: INVALID_REQUEST with a JSON-RPC error code. */
export class UnreadableMessageError extends ToolgateError {
  readonly rpcCode: number;
  /** Of a message that has a valid one (JSON-RPC 2.0 section 5). */
  readonly id: RequestId | null;

  constructor(rpcCode: number, message: string, id: RequestId | null = null) {
    super("INVALID_REQUEST", message);
    this.rpcCode = rpcCode;
    this.id = id;
  }
}

/** Parses the body of an MCP request. @throws UnreadableMessageError for invalid JSON */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw new UnreadableMessageError(RPC_ERROR.parse, "body: is missing");
  try {
    return parseBody(bytes);
  } catch (error) {
    if (error instanceof JsonFieldError) throw new UnreadableMessageError(RPC_ERROR.parse, error.message);
    throw error;
  }
}

/** Path of a message that is no part of a batch. */
const ALONE = "body";

/** Reads a message, by hand for speed. @returns undefined: a response. @throws UnreadableMessageError */
export function readMessage(body: unknown, path = ALONE): Message | undefined {
  if (!isJsonObject(body)) throw invalidMessage(path, "must be an object");
  const { id, method } = body;
  if (body["jsonrpc"] !== "2.0") throw invalidMessage(path, 'jsonrpc must be "2.0"', id);
  if (typeof method !== "string") {
    if (isResponse(body)) return undefined;
    throw invalidMessage(path, "method must be a string", id);
  }
  if (id !== undefined && !isRequestId(id))
    throw invalidMessage(path, "id must be a string or a number up to 2^53 - 1");
  const params = body["params"] ?? undefined;
  if (params !== undefined && !isJsonObject(params))
    throw invalidMessage(path, "params must be an object; omit it when there are none", id);
  return { id, method, params };
}

function invalidMessage(path: string, problem: string, id?: JsonValue): UnreadableMessageError {
  const message = `${path}: is not a JSON-RPC 2.0 request: ${problem}`;
  const readable = path === ALONE && id !== undefined && isRequestId(id) ? id : null;
  return new UnreadableMessageError(RPC_ERROR.invalidRequest, message, readable);
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

/**
 * Merges the JSON-RPC error into the plain error, which is also its `data`: both clients read it.
 * @param more further members of `data`
 */
export function mergeRpcError(
  answer: HttpResponse,
  id: RequestId | null,
  code: number,
  message: string,
  more?: object,
): HttpResponse {
  const body = typeof answer.json === "object" ? answer.json : {};
  const data = more ? { ...body, ...more } : answer.json;
  return { ...answer, json: { ...body, ...errorMessage(id, code, message, data) } };
}

/** Returns -32602 with the path of the invalid member. */
export function invalidParams(path: string, problem: string): JsonRpcError {
  return new JsonRpcError(RPC_ERROR.invalidParams, `${path}: ${problem}`);
}

/** Quotes client text in a message, at most 128 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 128));
}
