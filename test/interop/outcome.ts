import type { Message } from "@bufbuild/protobuf";
import { errorBindings } from "#gen/toolgate/v1/index_http.ts";
import { createErrorBody } from "#httpjson/runtime/index.ts";
import { ERRORS, type ErrorCode, type RpcCode } from "../../src/domain/core/errors.ts";

/** The outcome of a call as HTTP/JSON, on any transport. */
export type Outcome = { answer: unknown } | { error: unknown };

const errorBody = createErrorBody(errorBindings);

export function answered(json: unknown): Outcome {
  return { answer: steady(json) };
}

/** An error over HTTP. @throws Error when the status differs from the catalogue's */
export function failedWithStatus(json: { code?: unknown }, status: number): Outcome {
  const entry = catalogued(json.code);
  // A proof that cannot be read is a bad request, too.
  const unreadable = json.code === "INVALID_PAYMENT" && status === 400;
  if (entry.status !== status && !unreadable)
    throw new Error(`${String(json.code)} came with status ${status}`);
  return { error: steady(json) };
}

/** An error over gRPC or Connect. @throws Error when the status differs from the catalogue's */
export function failedWithDetail(details: readonly Message[], rpc: RpcCode, message: string): Outcome {
  const body = errorBody(details);
  if (!body) throw new Error(`no error detail that HTTP has a body for, but: ${message}`);
  const reported = JSON.parse(JSON.stringify(body.json)) as { code?: unknown; message?: unknown };
  if (catalogued(reported.code).rpc !== rpc) throw new Error(`${String(reported.code)} came as ${rpc}`);
  if (reported.message !== message)
    throw new Error(`the status says ${message}, the detail ${String(reported.message)}`);
  return { error: steady(reported) };
}

function catalogued(code: unknown): (typeof ERRORS)[ErrorCode] {
  const entry = Object.entries(ERRORS).find(([name]) => name === code)?.[1];
  if (!entry) throw new Error(`${String(code)} is not in the catalogue`);
  return entry;
}

const CHANGING = /"(request_id|receipt_id|run_id|quote_id|step_id|next_cursor|tx_signature)":"[^"]*"/g;
const TIME = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"/g;

/** The JSON with placeholders for identifiers and times; null stays null. */
function steady(json: unknown): unknown {
  const text = JSON.stringify(json).replace(CHANGING, '"$1":"…"').replace(TIME, '"<time>"');
  return JSON.parse(text);
}
