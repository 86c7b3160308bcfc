import { z } from "zod";
import { printable } from "../core/printable.ts";

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
