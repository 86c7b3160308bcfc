import type { Part, Target } from "../bench.ts";
import { FREE_CALL, postRequest } from "../http-request.ts";
import { compare } from "../measure.ts";
import { line } from "../report.ts";

const VERSION = "2026-07-28";
const PREFIX = "io.modelcontextprotocol";

export const mcp: Part = {
  name: "mcp",
  title: "2. free call, MCP",
  why: "MCP hosts: the cost beside the official server",
  async run(bench) {
    const [key = ""] = await bench.world.createAccounts(1);
    const [gateway, library] = [await bench.serve(), await bench.peer("mcp")];
    const expect = { status: 200, body: `{"echo":"${FREE_CALL.params.message}"}` };
    const side = (target: Target) => bench.side(target, { connections: 64, requests: [echo(key)], expect });
    const [ours, theirs] = [side(gateway), side(library)];
    // Cold, the library costs twice as much, which would favour the gateway.
    await compare(ours, theirs, { ...bench.plan, rounds: 1 });
    const rounds = await compare(ours, theirs, bench.plan);
    return [line("CPU, throughput", rounds, "official library 2.x", ["cpuMicros", "perSecond"])];
  },
};

function echo(key: string): string {
  const { tool: name, params } = FREE_CALL;
  const _meta = { [`${PREFIX}/protocolVersion`]: VERSION, [`${PREFIX}/clientCapabilities`]: {} };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: params, _meta } };
  return postRequest("/mcp", key, call, {
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": name,
  });
}
