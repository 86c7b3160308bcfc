import type { Bench } from "./bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, loaded, type Comparison } from "./measure.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";

const CONNECTIONS = 64;
const PEER = "node:http + JSON";
/** Limit of the log's share of a call's cost. */
const OF_LOGGING = 1.05;

/** Compares a free call over HTTP/JSON with a minimal JSON server. */
export async function echo(bench: Bench): Promise<Line[]> {
  const call = { tool: "echo", params: { message: "hello, gateway" } };
  const comparison = await compareHttp(bench, call, 200, '{"ok":true,"result":{"echo":"hello, gateway"}');
  return [
    ...cpuLine("HTTP echo", comparison, PEER, 1.7),
    throughputLine("HTTP echo", comparison, PEER, 0.6),
    ...(await logging(bench, call)),
  ];
}

/** Compares the default log level with errors only, the level of all other measurements. */
async function logging(
  { world, gateway, databaseUrl, plan, signal, load: loadOf }: Bench,
  call: object,
): Promise<Line[]> {
  const loud = await world.serve({ databaseUrl, env: { LOG_LEVEL: "info" } });
  try {
    const [key = ""] = await world.createAccounts(1, undefined, databaseUrl);
    const load = loadOf("http");
    const side = ({ server, httpPort }: typeof gateway) => {
      const job = {
        host: "127.0.0.1",
        port: httpPort,
        connections: CONNECTIONS,
        requests: [toolCallRequest(key, call)],
      };
      return loaded(load, server, { ...job, expect: { status: 200, body: '"result"' } }, plan, signal);
    };
    const comparison = await compare(side(loud), side(gateway), plan);
    return cpuLine("HTTP echo with LOG_LEVEL=info", comparison, "LOG_LEVEL=error", OF_LOGGING);
  } finally {
    await loud.server.stop();
  }
}

/** Compares a 402 with a fresh quote with a minimal server that returns as many bytes. */
export async function paymentRequired(bench: Bench): Promise<Line[]> {
  const comparison = await compareHttp(bench, PAID_CALL, 402, '"code":"PAYMENT_REQUIRED"');
  return [...cpuLine("HTTP 402", comparison, PEER, 2.2), throughputLine("HTTP 402", comparison, PEER, 0.5)];
}

/** Both servers get the same requests and answer the same body. */
async function compareHttp(bench: Bench, call: object, status: number, body: string): Promise<Comparison> {
  const { world, gateway, plan, signal } = bench;
  const keys = await world.createAccounts(1);
  const answer = await callOnce(gateway.httpPort, keys[0] ?? "", call, status);
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
