import type { HttpResponse } from "../http/response.ts";
import { errorMessage, type RequestId } from "./message.ts";

/**
 * A failed answer with HTTP status and body as at any other path, and the JSON-RPC members laid over, so that either reader finds
 * its own. The plain body is also the `data` of the JSON-RPC error.
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
