import type { Gateway } from "../../src/gateway.ts";
import type { Call, TransportClient } from "./transports.ts";
import { answered, failedWithStatus, type Outcome } from "./outcome.ts";

const STEP_FORM = "<step_id>:<quote_id>:<nonce>";
const PREFIX_FORM = "svc:{quote_id}";

export function plainMcpClient({ baseUrl }: Gateway): TransportClient {
  return {
    async call({ body }, headers, received) {
      const { status, json } = await post(baseUrl, body ?? {}, headers, received);
      return status === 200 ? answered(json) : failedWithStatus(json, status);
    },
    close() {},
  };
}

export function mcpClient({ baseUrl }: Gateway): TransportClient {
  return {
    async call(call, headers, received) {
      const { status, json } = await post(baseUrl, toolsCall(call), headers, received);
      const { jsonrpc: _, id: __, result, error, ...plain } = json;
      if (status !== 200) return sameTwice(failedWithStatus(plain, status), plain, status, error);
      if (isRecord(result) && result["isError"] === true) return refusedArguments(result);
      if (!isRecord(result)) throw new Error(`no result: ${JSON.stringify(json)}`);
      const { structuredContent, _meta } = result;
      const receipt = isRecord(_meta) ? _meta["toolgate/receipt"] : undefined;
      return answered({ ok: true, result: structuredContent, ...(receipt !== undefined && { receipt }) });
    },
    close() {},
  };
}

function toolsCall({ body }: Call): object {
  const { tool: name, params } = { tool: undefined, params: undefined, ...body };
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: params } };
}

/** The only intended difference of this path is the memo form (docs/reference/errors.md, "The 402 body"). */
async function post(
  baseUrl: string,
  body: object,
  headers: Record<string, string>,
  received?: (headers: Headers) => void,
) {
  const response = await fetch(`${baseUrl}/mcp`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  received?.(response.headers);
  const text = (await response.text()).replaceAll(PREFIX_FORM, STEP_FORM);
  return { status: response.status, json: JSON.parse(text) as Record<string, unknown> };
}

/**
 * The JSON-RPC error repeats status and body, beside its challenges; before the body is read there is none.
 */
function sameTwice(
  outcome: Outcome,
  plain: Record<string, unknown>,
  status: number,
  error: unknown,
): Outcome {
  const repeated = JSON.stringify({ code: status, message: plain["message"], data: plain });
  const said = JSON.stringify(error, (name, value: unknown) => (name === "challenges" ? undefined : value));
  if (error !== undefined && said !== repeated)
    throw new Error(`the error says ${JSON.stringify(error)}, the body ${JSON.stringify(plain)}`);
  return outcome;
}

/** MCP returns bad arguments as a result for the model: the code is implied. */
function refusedArguments(result: Record<string, unknown>): Outcome {
  const [text] = result["content"] as { text: string }[];
  return { error: { code: "INVALID_REQUEST", message: text?.text, request_id: "…" } };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
