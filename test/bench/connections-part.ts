import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import { callOnce, toolCallRequest } from "./http-request.ts";
import type { LoadProcess } from "./load.ts";
import { loaded } from "./measure.ts";
import type { Line } from "./report.ts";
import type { ServerProcess } from "./server-process.ts";

const CALL = { tool: "echo", params: { message: "hello, gateway" } };

/** Limit of additional memory for the connections, MB. */
const BARS: ReadonlyMap<number, number> = new Map([
  [1_000, 20],
  [5_000, 40],
]);

/** Time limit for memory to settle, ms; less with short windows. */
const SETTLED_MS = 3_000;

/** Connections that are made at once. */
const AT_ONCE = 50;

/** Memory of idle connections after one call: resident memory beyond that of the same server under load. */
export async function idleConnections(bench: Bench): Promise<Line[]> {
  const { world, gateway, scale } = bench;
  const [key = ""] = await world.createAccounts(1);
  const answer = await callOnce(gateway.httpPort, key, CALL, 200);
  const peer = await bench.peer("test/bench/http-peer/main.ts", { args: ["200", answer] });
  const request = toolCallRequest(key, CALL);
  const load = bench.load("http");
  const ours = await measure(bench, load, gateway.server, gateway.httpPort, request);
  const bare = await measure(bench, load, peer.server, peer.port, request);
  return scale.idleConnections.flatMap((count, index): Line[] => {
    const [took, bareTook] = [ours[index], bare[index]];
    if (took === undefined || bareTook === undefined) return [];
    const bar = BARS.get(count) ?? 40;
    return [
      {
        measure: `${count} idle connections (RSS)`,
        gateway: `${took.toFixed(1)} MB`,
        peer: `${bar} MB (node:http + JSON ${bareTook.toFixed(1)} MB)`,
        value: took / bar,
        bar: { atMost: 1 },
      },
    ];
  });
}

/** MB more with each number of connections; none where memory cannot be measured. */
async function measure(
  bench: Bench,
  load: LoadProcess,
  server: ServerProcess,
  port: number,
  request: string,
): Promise<number[]> {
  const { scale, plan, signal } = bench;
  const settledMs = Math.min(SETTLED_MS, plan.windowMs);
  const sockets: Socket[] = [];
  const resident = async () => {
    await sleep(settledMs, undefined, { signal });
    await server.collectGarbage();
    return server.residentMegabytes();
  };
  try {
    // Until then the heap grows with every call, whatever the connections take.
    const job = {
      host: "127.0.0.1",
      port,
      connections: 64,
      requests: [request],
      expect: { status: 200, body: "{" },
    };
    await loaded(load, server, job, plan, signal)();
    const before = await resident();
    const took: number[] = [];
    for (const count of scale.idleConnections) {
      while (sockets.length < count) {
        const some = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () =>
          answered(port, request),
        );
        sockets.push(...(await Promise.all(some)));
      }
      const now = await resident();
      if (now !== undefined && before !== undefined) took.push(now - before);
    }
    return took;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** A connection that has had one answer. */
async function answered(port: number, request: string): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.write(request);
  await once(socket, "data");
  return socket;
}
