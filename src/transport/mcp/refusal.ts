import { JsonFieldError } from "#httpjson/runtime/index.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Pipeline } from "../pipeline.ts";
import type { McpExchange } from "./exchange.ts";
import type { Result } from "./modern-result.ts";
import { inBandResult, isAboutPayment, withSettlement } from "./payment-in-band.ts";
import { failedToolResult } from "./tool-result.ts";

/** How a failed tool call is reported. */
export type FailedCall =
  /** As a result for the model. */
  { readonly kind: "result"; readonly result: Result; readonly preferred: boolean } | PlainFailure;

/** As a plain HTTP error. */
export interface PlainFailure {
  readonly kind: "plain";
  readonly answer: HttpResponse;
  readonly message: string;
}

/**
 * Decides how to report a failed call: invalid arguments always as a result, payment errors as a result when
 * requested.
 * @param inBand whether payment errors become results
 */
export function failedCall(
  thrown: unknown,
  inBand: boolean,
  exchange: McpExchange,
  pipeline: Pipeline,
): FailedCall {
  if (
    thrown instanceof JsonFieldError ||
    (thrown instanceof ToolgateError && thrown.code === "INVALID_REQUEST")
  )
    return { kind: "result", result: failedToolResult(thrown.message), preferred: false };
  const failure = pipeline.failure(thrown, exchange.context.requestId);
  const answer = exchange.failed(failure);
  if (!inBand || !isAboutPayment(failure.error.code))
    return { kind: "plain", answer, message: messageOf(thrown) };
  const result = withSettlement(inBandResult(failure, answer.json), exchange.settlement);
  return { kind: "result", result, preferred: true };
}

function messageOf(thrown: unknown): string {
  return thrown instanceof ToolgateError ? thrown.message : "internal error";
}
