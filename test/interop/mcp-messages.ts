import type { McpRequest } from "./mcp-exchange.ts";

// MCP messages as clients send them, in both eras, and slightly invalid variants.

export const MODERN = "2026-07-28";
export const ACCEPT = "application/json, text/event-stream";
export const VERSION = "io.modelcontextprotocol/protocolVersion";
export const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const INFO = "io.modelcontextprotocol/clientInfo";
export const CLIENT = { name: "comparison", version: "1.0.0" };

/** Headers by name; `undefined` takes one out. */
type Headers = Readonly<Record<string, string | undefined>>;

export function opening(protocolVersion: string) {
  return { protocolVersion, capabilities: {}, clientInfo: CLIENT };
}

export function call(args: object) {
  return { name: "echo", arguments: args };
}

export function request(id: number, method: string, params?: object) {
  return { jsonrpc: "2.0", id, method, ...(params && { params }) };
}

export function notification(method: string, params?: object) {
  return { jsonrpc: "2.0", method, ...(params && { params }) };
}

/** Required `_meta` since 2026-07-28. */
export function envelope() {
  return { [VERSION]: MODERN, [CAPABILITIES]: {}, [INFO]: CLIENT };
}

/** Required headers since 2026-07-28. */
export function modernHeaders(method: string): Headers {
  return { "mcp-protocol-version": MODERN, "mcp-method": method };
}

export function post(body: unknown, headers: Headers = {}): McpRequest {
  return { headers: present({ "content-type": "application/json", accept: ACCEPT, ...headers }), body };
}

/** A request of the revisions that open with `initialize`. */
export function legacy(method: string, params?: object, headers?: Headers): McpRequest {
  return post(request(1, method, params), headers);
}

export function notice(method: string, params?: object): McpRequest {
  return post(notification(method, params));
}

/** A request of 2026-07-28; `headers` and `meta` override the valid ones. */
export function modern(
  method: string,
  params: object = {},
  headers: Headers = {},
  meta: object = {},
): McpRequest {
  const name = "name" in params && typeof params.name === "string" ? { "mcp-name": params.name } : {};
  return post(request(1, method, { ...params, _meta: { ...envelope(), ...meta } }), {
    ...modernHeaders(method),
    ...name,
    ...headers,
  });
}

export function modernNotice(
  method: string,
  params: object = {},
  headers: Headers = {},
  meta: object = {},
): McpRequest {
  const message = notification(method, { ...params, _meta: { ...envelope(), ...meta } });
  return post(message, { ...modernHeaders(method), ...headers });
}

function present(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
