import { z } from "zod";
import { printable } from "../core/treasury.ts";

/** Why an endpoint returned no usable response. */
export type RpcFailureKind =
  | "network"
  | "timeout"
  | "http"
  | "rate_limited"
  | "unhealthy"
  | "not_here"
  | "malformed"
  | "circuit_open";

/** One endpoint returned no usable response; another may. The message contains only the host of its URL. */
export class RpcFailure extends Error {
  readonly kind: RpcFailureKind;
  /** Pause that the endpoint requested, ms. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: RpcFailureKind, host: string, problem: string, retryAfterMs?: number) {
    super(`${host}: ${printable(problem)}`);
    this.name = "RpcFailure";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A final error that any other endpoint would return too (JSON-RPC 2.0 section 5.1). */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(host: string, code: number, message: string, data: unknown) {
    super(`${host}: JSON-RPC error ${code}: ${printable(message)}`);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

/** An invalid or contradictory result. It proves nothing, so the next endpoint is tried. */
export class MalformedAnswer extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "MalformedAnswer";
  }
}

/** Describes what is wrong with a response in one line; undefined for other errors. */
export function malformation(error: unknown): string | undefined {
  if (error instanceof MalformedAnswer || error instanceof SyntaxError) return error.message.slice(0, 200);
  if (!(error instanceof z.ZodError)) return undefined;
  const issue = error.issues[0];
  return issue ? `${issue.path.join(".")}: ${issue.message}`.slice(0, 200) : "unexpected shape";
}

/** Error code for a transaction version above `maxSupportedTransactionVersion`. */
export const UNSUPPORTED_TRANSACTION_VERSION = -32015;

/**
 * Errors about the request itself (Solana's custom errors and JSON-RPC 2.0 section 5.1): every endpoint
 * returns the same.
 */
const FINAL_CODES = new Set([
  -32002, // sendTransaction: preflight failed
  -32003, // signature verification failed
  -32006, // precompile verification failed
  -32013, // wrong number of signatures
  UNSUPPORTED_TRANSACTION_VERSION,
  -32602, // invalid params
]);

/**
 * The endpoint is healthy but lacks the data: block not available, slots skipped, context slot not reached.
 */
const NOT_HERE_CODES = new Set([-32004, -32007, -32009, -32014, -32016]);

/** Codes that providers return with status 200 instead of HTTP 429. */
const RATE_LIMIT_CODES = new Set([429, -32429]);
const RATE_LIMIT_PAUSE_MS = 1_000;

const responseSchema = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.number(), z.string(), z.null()]),
  error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }).optional(),
  result: z.unknown().optional(),
});

/**
 * Returns the result of a JSON-RPC 2.0 response.
 * @throws RpcError for a final error, RpcFailure if another endpoint may succeed, MalformedAnswer or ZodError
 * for an invalid response
 */
export function openResponse(host: string, id: number, text: string): unknown {
  const response = responseSchema.parse(JSON.parse(text));
  if (response.error) throw errorOf(host, response.error);
  if (response.id !== id) throw new MalformedAnswer("the response has another request's id");
  if (response.result === undefined) throw new MalformedAnswer("the response has neither result nor error");
  return response.result;
}

function errorOf(
  host: string,
  { code, message, data }: { code: number; message: string; data?: unknown },
): Error {
  const text = message.slice(0, 200);
  if (FINAL_CODES.has(code)) return new RpcError(host, code, text, data);
  const problem = `JSON-RPC error ${code}: ${text}`;
  if (RATE_LIMIT_CODES.has(code)) return new RpcFailure("rate_limited", host, problem, RATE_LIMIT_PAUSE_MS);
  return new RpcFailure(NOT_HERE_CODES.has(code) ? "not_here" : "unhealthy", host, problem);
}
