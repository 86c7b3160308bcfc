import { z } from "zod";
import { printable } from "./printable.ts";

/** What kept one endpoint from giving a usable answer. */
export type RpcFailureKind =
  | "network"
  | "timeout"
  | "http"
  | "rate_limited"
  | "unhealthy"
  | "not_here"
  | "malformed"
  | "circuit_open";

/** One endpoint gave no usable answer; another may. Its text holds the endpoint's host and nothing else of its URL. */
export class RpcFailure extends Error {
  readonly kind: RpcFailureKind;
  /** How long the endpoint asked to be left alone, ms. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: RpcFailureKind, host: string, problem: string, retryAfterMs?: number) {
    super(`${host}: ${printable(problem)}`);
    this.name = "RpcFailure";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The endpoint's answer is an error that any other endpoint would give too (JSON-RPC 2.0 section 5.1). */
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

/** Thrown by readers of results: what came is not what the method answers, or contradicts itself. It proves nothing, so another endpoint is asked. */
export class MalformedAnswer extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "MalformedAnswer";
  }
}

/** Says what is wrong with an answer in one line; undefined when the error is not about the answer. */
export function malformation(error: unknown): string | undefined {
  if (error instanceof MalformedAnswer || error instanceof SyntaxError) return error.message.slice(0, 200);
  if (!(error instanceof z.ZodError)) return undefined;
  const issue = error.issues[0];
  return issue ? `${issue.path.join(".")}: ${issue.message}`.slice(0, 200) : "unexpected shape";
}
