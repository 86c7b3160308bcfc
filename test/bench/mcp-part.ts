import type { Bench, HttpTarget } from "./bench.ts";
import { postRequest, toolCallRequest } from "./http-request.ts";
import { compare, type Comparison, type Plan, type Side } from "./measure.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";

const CONNECTIONS = 64;
const MESSAGE = "hello, gateway";
const MODERN = "2026-07-28";

/** Limit of a JSON-RPC call's cost relative to the plain call. */
const OVER_PLAIN = 1.3;
/** And of the same call to a server of the official library, by its two lines. */
const [OF_FIRST, OF_SECOND] = [1 / 12, 1 / 10];

/** Compares a free MCP call with the same call over HTTP/JSON and with both versions of the official SDK. */
export async function mcp(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan } = bench;
  const [key = ""] = await world.createAccounts(1);
  const side = (target: HttpTarget, request: string) =>
    bench.http(target, {
      ...{ connections: CONNECTIONS, requests: [request] },
      expect: { status: 200, body: `{"echo":"${MESSAGE}"}` },
    });
  const ours = { server: gateway.server, port: gateway.httpPort };
  const plain = toolCallRequest(key, { tool: "echo", params: { message: MESSAGE } });
  const [first, second] = await Promise.all(
    ["v1", "v2"].map((line) => bench.peer("test/bench/mcp-peer/main.ts", { args: [line] })),
  );
  if (!first || !second) throw new Error("there are two lines");
  const overPlain = await compareWarm(side(ours, legacyEcho(key)), side(ours, plain), plan);
  const ofFirst = await compareWarm(side(ours, legacyEcho(key)), side(first, legacyEcho(key)), plan);
  const ofSecond = await compareWarm(side(ours, modernEcho(key)), side(second, modernEcho(key)), plan);
  return [
    ...linesOf("MCP echo", overPlain, "same call at /v1", OVER_PLAIN),
    ...linesOf("MCP echo, 2025-11-25", ofFirst, "official library 1.x", OF_FIRST),
    ...linesOf("MCP echo, 2026-07-28", ofSecond, "official library 2.x", OF_SECOND),
  ];
}

/** @param most allowed cost as a share of the peer's; required throughput is its reciprocal */
function linesOf(measure: string, comparison: Comparison, peer: string, most: number): Line[] {
  return [...cpuLine(measure, comparison, peer, most), throughputLine(measure, comparison, peer, 1 / most)];
}

/**
 * Warms both sides with an uncounted round: cold, the library costs twice as much, which would favour the
 * gateway.
 */
async function compareWarm(gateway: Side, peer: Side, plan: Plan): Promise<Comparison> {
  await gateway();
  await peer();
  return compare(gateway, peer, plan);
}

function legacyEcho(key: string): string {
  return echo(key, { "MCP-Protocol-Version": "2025-11-25" }, {});
}

function modernEcho(key: string): string {
  const headers = { "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "echo" };
  const prefix = "io.modelcontextprotocol";
  return echo(key, headers, {
    _meta: { [`${prefix}/protocolVersion`]: MODERN, [`${prefix}/clientCapabilities`]: {} },
  });
}

function echo(key: string, headers: Record<string, string>, params: object): string {
  const call = { name: "echo", arguments: { message: MESSAGE }, ...params };
  return postRequest(
    "/mcp",
    key,
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: call },
    {
      Accept: "application/json, text/event-stream",
      ...headers,
    },
  );
}
