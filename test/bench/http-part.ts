import type { Bench } from "./bench.ts";
import { askOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, loaded, type Comparison } from "./measure.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";

const CONNECTIONS = 64;
const PEER = "node:http + JSON";

/** A free call through the JSON door against a bare JSON server. */
export async function echo(bench: Bench): Promise<Line[]> {
  const call = { tool: "echo", params: { message: "hello, gateway" } };
  const comparison = await compareHttp(bench, call, 200, '{"ok":true,"result":{"echo":"hello, gateway"}');
  return [...cpuLine("HTTP echo", comparison, PEER, 1.7), throughputLine("HTTP echo", comparison, PEER, 0.6)];
}

/** A paid call of an account without balance, answered with a fresh quote, against a bare server that answers as much. */
export async function paymentRequired(bench: Bench): Promise<Line[]> {
  const comparison = await compareHttp(bench, PAID_CALL, 402, '"code":"PAYMENT_REQUIRED"');
  return [...cpuLine("HTTP 402", comparison, PEER, 2.2), throughputLine("HTTP 402", comparison, PEER, 0.5)];
}

/** Both servers get the same requests and answer the same body. */
async function compareHttp(bench: Bench, call: object, status: number, body: string): Promise<Comparison> {
  const { world, gateway, plan, signal } = bench;
  const keys = await world.createAccounts(1);
  const answer = await askOnce(gateway.httpPort, keys[0] ?? "", call, status);
  const peer = await bench.peer("test/bench/http-peer/main.ts", { args: [String(status), answer] });
  const load = bench.load("http");
  const side = (server: typeof gateway.server, port: number) =>
    loaded(
      load,
      server,
      {
        host: "127.0.0.1",
        port,
        connections: CONNECTIONS,
        requests: keys.map((key) => toolCallRequest(key, call)),
        expect: { status, body },
      },
      plan,
      signal,
    );
  return compare(side(gateway.server, gateway.httpPort), side(peer.server, peer.port), plan);
}
