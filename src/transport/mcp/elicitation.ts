import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { McpExchange } from "./exchange.ts";
import type { Message } from "./json-rpc.ts";
import { capabilitiesOf, type Era, type Result } from "./revision.ts";

/** Name of the one input request of a result. */
const INPUT = "approval";

/**
 * Sessions of clients that open addresses. Such an identifier stands for nothing but this: later requests do
 * not repeat the capabilities of `initialize`, and any instance may answer them.
 */
const URL_SESSION = "opens-url-";

export function newUrlSession(): string {
  return URL_SESSION + randomUUID();
}

/** Whether capabilities have elicitation in URL mode (Elicitation, capabilities). */
export function elicitsUrls(capabilities: JsonValue | undefined): boolean {
  const elicitation = isJsonObject(capabilities) ? capabilities["elicitation"] : undefined;
  return isJsonObject(elicitation) && isJsonObject(elicitation["url"]);
}

/** Whether the client that sent this request opens addresses for its person. */
export function opensUrls(
  message: Message,
  era: Era,
  { headers, version }: Pick<McpExchange, "headers" | "version">,
): boolean {
  if (era === "modern") return elicitsUrls(capabilitiesOf(message));
  return version === "2025-11-25" && String(headers["mcp-session-id"]).startsWith(URL_SESSION);
}

/** What a repeated request says of the address; undefined: nothing yet. */
export function answerOf({ params }: Message): "accept" | "decline" | undefined {
  const responses = params?.["inputResponses"];
  const response = isJsonObject(responses) ? responses[INPUT] : undefined;
  if (isJsonObject(response)) return response["action"] === "accept" ? "accept" : "decline";
  return typeof params?.["requestState"] === "string" ? "accept" : undefined;
}

/**
 * Returns the result that asks a modern client to open an address, or to repeat the request while its person
 * decides (Multi Round-Trip Requests).
 */
export function inputRequired(id: string, page: { url: string; message: string } | undefined): Result {
  const inputRequests = page && {
    [INPUT]: { method: "elicitation/create", params: { mode: "url", ...page } },
  };
  return { resultType: "input_required", ...(inputRequests && { inputRequests }), requestState: id };
}
