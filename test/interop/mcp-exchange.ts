import { once } from "node:events";
import { request as startRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

export interface McpRequest {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A string is sent unchanged. */
  readonly body?: unknown;
}

/**
 * Sends a request and describes the response in one line: the HTTP status, then per message its id and error
 * code, or the members of its result with types, two levels deep.
 */
export async function exchange(
  baseUrl: string,
  { method = "POST", headers, body }: McpRequest,
): Promise<string> {
  const request = startRequest(new URL("/mcp", baseUrl), { method, headers });
  request.end(typeof body === "string" || body === undefined ? body : JSON.stringify(body));
  const [response]: IncomingMessage[] = await once(request, "response");
  if (!response) throw new Error("no response");
  const content = await text(response);
  return [
    response.statusCode,
    ...messagesOf(content, response.headers["content-type"]).flatMap(outline),
  ].join(" ");
}

/** Of a stream, the data of its events (HTML, server-sent events). */
function messagesOf(content: string, type: string | undefined): unknown[] {
  if (content === "") return [];
  if (type?.startsWith("text/event-stream")) {
    const lines = content
      .split("\n")
      .filter((line) => line.startsWith("data: {") || line.startsWith("data: ["));
    return lines.map((line) => JSON.parse(line.slice("data: ".length)) as unknown);
  }
  const json: unknown = JSON.parse(content);
  return Array.isArray(json) ? json : [json];
}

function outline(message: unknown): string[] {
  if (!isRecord(message)) return ["no object"];
  const { jsonrpc, id, method, error, result } = message;
  if (jsonrpc !== "2.0") return [];
  if (typeof method === "string") return [method];
  const about = `id=${JSON.stringify(id)}`;
  if (isRecord(error)) return [about, `error=${String(error["code"])}${demandedData(error)}`];
  return [about, isRecord(result) ? `result=${shapeOf(result, 2)}` : "no result"];
}

/** The data that MCP requires for -32021 and -32022; other errors are free. */
function demandedData({ code, data }: Record<string, unknown>): string {
  return (code === -32_021 || code === -32_022) && isRecord(data) ? shapeOf(data, 1) : "";
}

/** Names and types of the members up to a depth; for a list, those of its first entry. */
function shapeOf(value: unknown, levels: number): string {
  if (Array.isArray(value))
    return levels === 0 || value.length === 0 ? "array" : `[${shapeOf(value[0], levels)}]`;
  if (!isRecord(value)) return typeof value === "boolean" ? String(value) : typeof value;
  if (levels === 0) return "object";
  const names = Object.keys(value).toSorted();
  return `{${names.map((name) => `${name}:${shapeOf(value[name], levels - 1)}`).join(",")}}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
