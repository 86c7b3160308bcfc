import type { Bench, HttpTarget } from "./bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, type Comparison, type Ratio, type Side } from "./measure.ts";
import { observationCost } from "./observation-cost.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";
import { x402Peer } from "./x402-part.ts";

const CONNECTIONS = 64;
const PEER = "node:http + JSON";
/** Limit of the log's share of a call's cost, of metrics', and of traces' of every tenth call. */
const [OF_LOGGING, OF_METRICS, OF_TRACING] = [1.05, 1.03, 1.05];
/** And of the sandbox's while it proves itself. */
const OF_SANDBOX = 1.1;

/** Compares a free call over HTTP/JSON with a minimal JSON server. */
export async function echo(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan } = bench;
  const [key = ""] = await world.createAccounts(1);
  const call = { tool: "echo", params: { message: "hello, gateway" } };
  const body = '{"ok":true,"result":{"echo":"hello, gateway"}';
  const answer = await callOnce(gateway.httpPort, key, call, 200);
  const bare = await bench.peer("test/bench/http-peer/main.ts", { args: ["200", answer] });
  const sideOf = (target: HttpTarget, pinned?: false): Side =>
    bench.http(target, {
      ...{ connections: CONNECTIONS, requests: [toolCallRequest(key, call)] },
      ...{ expect: { status: 200, body }, ...(pinned === false && { pinned }) },
    });
  const ours = { server: gateway.server, port: gateway.httpPort };
  const echoes = await compare(sideOf(ours), sideOf(bare), plan);
  // Each round starts a gateway, as the sandbox proves itself at the start only.
  const started =
    (env: Record<string, string>): Side =>
    async () => {
      const { server, httpPort: port } = await world.serve({ env });
      try {
        return await sideOf({ server, port }, false)();
      } finally {
        await server.stop();
      }
    };
  const loud = await compare(started({ LOG_LEVEL: "info" }), started({}), plan);
  const collector = await bench.peer("test/bench/http-peer/main.ts", { args: ["200", "{}"] });
  const tracing = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
    OTEL_TRACES_SAMPLER: "traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.1",
  };
  const counted = await observationCost(world, { METRICS_PORT: "0" }, plan);
  const traced = await observationCost(world, tracing, plan);
  const proving = await compare(started({ SANDBOX_ISOLATION: "auto" }), started({}), plan);
  return [
    ...cpuLine("HTTP echo", echoes, PEER, 1.5),
    throughputLine("HTTP echo", echoes, PEER, 0.65),
    ...cpuLine("HTTP echo with LOG_LEVEL=info", loud, "LOG_LEVEL=error", OF_LOGGING),
    ...observationLine("HTTP echo with METRICS_PORT", counted, echoes, OF_METRICS),
    ...observationLine("HTTP echo, one in ten traced", traced, echoes, OF_TRACING),
    ...cpuLine("HTTP echo while the sandbox starts", proving, "sandbox off", OF_SANDBOX),
  ];
}

/** What reports add to a call; no line where its CPU time could not be measured. */
function observationLine(measure: string, added: Ratio, { gatewayCpu }: Comparison, atMost: number): Line[] {
  if (!gatewayCpu) return [];
  const { median: call } = gatewayCpu;
  const ratioOf = (micros: number) => 1 + micros / call;
  return [
    {
      measure: `${measure}: server CPU per call`,
      gateway: `+ ${added.median.toFixed(1)} us`,
      peer: `HTTP echo ${call.toFixed(0)} us`,
      value: ratioOf(added.median),
      range: { least: ratioOf(added.range.least), most: ratioOf(added.range.most) },
      bar: { atMost },
    },
  ];
}

/**
 * Compares a 402 with a fresh quote with a server that returns as many bytes, and with the library's server.
 */
export async function paymentRequired(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan } = bench;
  const [key = ""] = await world.createAccounts(1);
  const answer = await callOnce(gateway.httpPort, key, PAID_CALL, 402);
  const sideOf = (target: HttpTarget, body = "{"): Side =>
    bench.http(target, {
      ...{ connections: CONNECTIONS, requests: [toolCallRequest(key, PAID_CALL)] },
      expect: { status: 402, body },
    });
  const ours = sideOf({ server: gateway.server, port: gateway.httpPort }, '"code":"PAYMENT_REQUIRED"');
  const bare = await bench.peer("test/bench/http-peer/main.ts", { args: ["402", answer] });
  const ofBare = await compare(ours, sideOf(bare), plan);
  const ofLibrary = await compare(ours, sideOf(await x402Peer(bench, answer, "express")), plan);
  return [
    ...cpuLine("HTTP 402", ofBare, PEER, 2),
    throughputLine("HTTP 402", ofBare, PEER, 0.5),
    throughputLine("HTTP 402", ofLibrary, "official x402 library on express", 2.5),
  ];
}
