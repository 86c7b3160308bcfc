import { documentFolder, openapi, operation, startThirdParty } from "../tools/custom/http/third-party.ts";
import { buildOddTypes } from "../tools/custom/grpc/odd-types.ts";
import { startOddServer } from "../tools/custom/grpc/odd-server.ts";
import { startOfficialServer } from "../tools/custom/mcp/servers.ts";

export interface TracedBackends {
  /** Custom tools of the configuration file, named as their protocols. */
  readonly tools: readonly object[];
  /** The `traceparent` of the last call that the server of a protocol received. */
  readonly received: Readonly<Record<string, () => unknown>>;
  close(): Promise<void>;
}

/** Parameters of the tools, by protocol. */
export const PARAMS: Readonly<Record<string, object>> = {
  http: {},
  grpc: { what: "anything" },
  mcp: { a: 20, b: 1 },
};

export async function startTracedBackends(): Promise<TracedBackends> {
  const folder = documentFolder();
  const [http, grpc, mcp] = await Promise.all([
    startThirdParty(),
    buildOddTypes().then((types) => startOddServer(types)),
    startOfficialServer("stateful"),
  ]);
  const servers = [{ url: http.url }];
  const document = folder.write("api.json", openapi({ "/now": { get: operation("now") } }, { servers }));
  const address = `127.0.0.1:${grpc.port}`;
  const common = { price: { flat_microusd: 50 }, allow_hosts: ["127.0.0.1"], timeout_ms: 10_000 };
  return {
    tools: [
      { ...common, name: "http", http: { openapi: document, operation_id: "now" } },
      { ...common, name: "grpc", grpc: { address, tls: false, method: "odd.v1.OddService/Perform" } },
      { ...common, name: "mcp", mcp: { url: mcp.url, tool: "add" } },
    ],
    received: {
      http: () => http.received.at(-1)?.headers["traceparent"],
      grpc: () => grpc.seen.at(-1)?.metadata.get("traceparent")[0],
      mcp: () => metaOf(mcp.calls().at(-1)?.message)["traceparent"],
    },
    async close() {
      grpc.close();
      mcp.close();
      await http.close();
      folder[Symbol.dispose]();
    },
  };
}

function metaOf(message: { params?: { _meta?: Record<string, unknown> } } = {}): Record<string, unknown> {
  return message.params?._meta ?? {};
}
