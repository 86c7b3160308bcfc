import type { SpanAttributes } from "../../domain/core/span.ts";
import type { RequestObserver, RequestRecord } from "./request-record.ts";

/** Ends the span of each request, named and described as OpenTelemetry's semantic conventions say. */
export const requestSpans: RequestObserver = {
  ended(record) {
    const { span, status, code } = record;
    if (!span) return;
    if (span.sampled) span.set({ ...common(record), ...ofTransport(record) }, nameOf(record));
    // A client's mistake is no error of the server (semantic conventions, HTTP spans).
    span.end(status >= 500 ? (code ?? String(status)) : undefined);
  },
};

function common({ requestId, caller, runId, receiptId, code }: RequestRecord): SpanAttributes {
  return {
    "toolgate.request_id": requestId,
    "toolgate.account_id": caller?.accountId,
    "toolgate.run_id": runId,
    "toolgate.receipt_id": receiptId,
    "toolgate.code": code,
  };
}

function nameOf(record: RequestRecord): string {
  const { transport, method, tool, route = method } = record;
  if (transport === "mcp") return tool === undefined ? method : `${method} ${tool}`;
  return transport === "http" || transport === "openai" ? route : rpcMethod(record);
}

/** The method with its package, such as `toolgate.v1.ToolService/CallTool`. */
function rpcMethod({ method, route = method }: RequestRecord): string {
  return route.slice(route.indexOf("/toolgate.") + 1);
}

function ofTransport(record: RequestRecord): SpanAttributes {
  const { transport, method, tool, route, status } = record;
  if (transport === "grpc")
    return { "rpc.system.name": "grpc", "rpc.method": rpcMethod(record), "toolgate.status": status };
  const [httpMethod, path] = route?.split(" ") ?? [];
  const http = {
    "http.request.method": httpMethod,
    "http.route": path,
    "http.response.status_code": status,
  };
  if (transport === "mcp") return { ...http, "mcp.method.name": method, "gen_ai.tool.name": tool };
  if (transport === "http" || transport === "openai") return http;
  return { ...http, "rpc.system.name": "connectrpc", "rpc.method": rpcMethod(record) };
}
