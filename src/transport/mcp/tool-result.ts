import type { MessageShape } from "@bufbuild/protobuf";
import { JsonFieldError } from "#httpjson/runtime/index.ts";
import { receiptToJson } from "#gen/toolgate/v1/receipt_http.ts";
import type { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { ToolgateError, type ErrorCode } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { Failure } from "../error-details.ts";
import type { Header } from "../headers.ts";
import { failureResponse } from "../http/failure-response.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Pipeline } from "../pipeline.ts";
import { challengeJson } from "../payment-auth/challenges.ts";
import type { SettlementReport } from "../x402/settlement.ts";
import type { McpExchange } from "./exchange.ts";
import type { Result } from "./revision.ts";

/** Types of content blocks (MCP, tool result). */
const BLOCKS: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** Errors that become results when the client asks for payments in band. */
const PAYMENT_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "PAYMENT_REQUIRED",
  "QUOTE_EXPIRED",
  "INVALID_PAYMENT",
  "PAYMENT_PENDING",
]);

/** RFC 7240 section 3. */
export const PREFERENCE_APPLIED: Header = ["preference-applied", "payment=in-band"];

/** How a failed tool call is reported. */
export type FailedCall =
  /** As a result for the model. */
  { readonly kind: "result"; readonly result: Result; readonly preferred: boolean } | PlainFailure;

export interface PlainFailure {
  readonly kind: "plain";
  readonly answer: HttpResponse;
  readonly message: string;
  /** Of the scheme `Payment`; undefined when no payment is asked for. */
  readonly challenges: readonly object[] | undefined;
}

/** Name of challenges in the `_meta` of a result, as clients of the scheme `Payment` read them. */
const META_CHALLENGES = "org.paymentauth/payment-required";

export function toolResult({ result = {}, receipt }: MessageShape<typeof CallToolResponseSchema>): Result {
  const blocks = blocksOf(result);
  const answer = blocks
    ? { content: blocks, isError: false }
    : {
        content: [{ type: "text", text: JSON.stringify(result) }],
        structuredContent: result,
        isError: false,
      };
  return receipt ? { ...answer, _meta: { "toolgate/receipt": receiptToJson(receipt) } } : answer;
}

/** Returns content blocks of media: `{content, text}` of MCP, or `{base64, media_type}`. */
function blocksOf(result: JsonObject): object[] | undefined {
  if (result["content"] === undefined && result["base64"] === undefined) return undefined;
  const { content, text: _, base64, media_type: mimeType, ...more } = result;
  if (Object.keys(more).length > 0) return undefined;
  if (Array.isArray(content) && content.length > 0) return content.every(isBlock) ? content : undefined;
  if (typeof base64 !== "string" || typeof mimeType !== "string") return undefined;
  const type = /^(image|audio)\//.exec(mimeType)?.[1];
  return type === undefined ? undefined : [{ type, data: base64, mimeType }];
}

function isBlock(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && BLOCKS.has(value["type"]);
}

export function withSettlement(result: Result, settlement: SettlementReport["meta"] | undefined): Result {
  return settlement ? { ...result, _meta: { ...result._meta, ...settlement } } : result;
}

/**
 * Decides how a failed call is reported: as a result what fails in a tool, so that the model reads it (MCP,
 * Tools, error handling), and payment errors if `inBand`. Clients end a session over HTTP 500.
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
  ) {
    exchange.record.failed({ status: 400, code: "INVALID_REQUEST" });
    return { kind: "result", result: errorResult(thrown.message), preferred: false };
  }
  const failure = pipeline.failure(thrown, exchange.context.requestId, exchange.record);
  const answer = failureResponse(failure);
  if (exchange.record.toolFailed && failure.error.code !== "RATE_LIMITED") {
    const result = { ...errorResult(failure.error.message), _meta: { "toolgate/error": answer.json } };
    return { kind: "result", result: withSettlement(result, exchange.settlement), preferred: false };
  }
  if (!inBand || !PAYMENT_ERRORS.has(failure.error.code))
    return {
      kind: "plain",
      answer,
      challenges: challengesOf(failure),
      message: thrown instanceof ToolgateError ? thrown.message : "internal error",
    };
  const result = withSettlement(inBandResult(failure, answer.json), exchange.settlement);
  return { kind: "result", result, preferred: true };
}

/** Returns a failure as a tool result. Only a quote is named payment_required; no structuredContent. */
function inBandResult(failure: Failure, body: unknown): Result {
  const { error, offers } = failure;
  const content = isJsonObject(body) && offers?.x402 ? { ...body, ...offers.x402.paymentRequired } : body;
  const name = error.code === "PAYMENT_REQUIRED" ? "toolgate/payment_required" : "toolgate/error";
  const challenges = challengesOf(failure);
  const offered = challenges && { [META_CHALLENGES]: { httpStatus: error.status, challenges } };
  return { ...errorResult(JSON.stringify(content)), _meta: { [name]: body, ...offered } };
}

function challengesOf({ offers }: Failure): object[] | undefined {
  return offers && offers.challenges.length > 0 ? offers.challenges.map(challengeJson) : undefined;
}

function errorResult(text: string): Result {
  return { content: [{ type: "text", text }], isError: true };
}
