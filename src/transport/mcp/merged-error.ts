import type { HttpResponse } from "../http/response.ts";
import { errorMessage, type RequestId } from "./message.ts";

/**
 * Merges the JSON-RPC error into the plain error response, so that HTTP and JSON-RPC clients both understand
 * it. The plain body is also the `data` of the JSON-RPC error.
 */
export function mergeRpcError(
  answer: HttpResponse,
  id: RequestId | null,
  code: number,
  message: string,
): HttpResponse {
  const body = typeof answer.json === "object" ? answer.json : {};
  return { ...answer, json: { ...body, ...errorMessage(id, code, message, answer.json) } };
}
