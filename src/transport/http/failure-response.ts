import { errorBindings } from "#gen/toolgate/v1/index_http.ts";
import { createErrorBody } from "#httpjson/runtime/index.ts";
import type { Failure } from "../error-details.ts";
import { bodyWithV1 } from "../x402/offers.ts";
import type { HttpResponse } from "./response.ts";

const errorBody = createErrorBody(errorBindings);

/** Returns the response to a failed request: status and body from the generated error table. */
export function failureResponse({ error, detail, headers, offers }: Failure): HttpResponse {
  const body = errorBody([detail.message]);
  const json = bodyWithV1(body?.json, offers?.x402);
  return { status: body?.status ?? error.status, json, headers, refusal: error.refusal };
}
