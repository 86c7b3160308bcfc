export function toolCallRequest(apiKey: string, call: object): string {
  return postRequest("/v1/mcp/tools/call", apiKey, call);
}

/** A POST of JSON as the bytes of an HTTP request. */
export function postRequest(
  path: string,
  apiKey: string,
  json: object,
  headers: Readonly<Record<string, string>> = {},
): string {
  const body = JSON.stringify(json);
  return [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Bearer ${apiKey}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n");
}

export const FREE_CALL = { tool: "echo", params: { message: "hello, gateway" } };
export const FREE_ANSWER = { status: 200, body: '"result":{"echo":"hello, gateway"}' };

/** The cheapest paid tool call, so that the payment dominates, and part of its answer. */
export const PAID_CALL = { tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } };
export const PAID_ANSWER = { status: 200, body: '"receipt_id":"rcpt_' };

/** Sends one request and returns the body of the response. @throws Error for an unexpected status */
export async function callOnce(port: number, apiKey: string, call: object, status: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/mcp/tools/call`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(call),
  });
  const body = await response.text();
  if (response.status !== status) throw new Error(`expected ${status}, got ${response.status}: ${body}`);
  return body;
}
