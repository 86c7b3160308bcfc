import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postRequest } from "./http-request.ts";
import { LoadProcess } from "./load.ts";
import { HAS_WRK, wrkSide } from "./wrk.ts";

/** The shortest that wrk measures, with a warm-up of about one request. */
const PLAN = { rounds: 1, windowMs: 1_000, warmUpMs: 1 };

let server: Server | undefined;
let load: LoadProcess;
beforeEach(() => {
  load = new LoadProcess("http");
});
afterEach(async () => {
  await load.stop();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

/** Answers 200 to a number of requests and 402 afterwards, each after some ms, so that the load is low. */
async function measure(answered: number) {
  const seen = new Map<string, number>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    seen.set(body, (seen.get(body) ?? 0) + 1);
    await sleep(5);
    response.writeHead(answered-- > 0 ? 200 : 402).end("{}");
  };
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const job = { host: "127.0.0.1", port, connections: 2, expect: { status: 200, body: "{" } };
  const requests = ["one \r\n", 'two "\\'].map((one) => postRequest("/", "key", { text: one }));
  const self = { pid: process.pid, cpuSeconds: async () => process.cpuUsage().user / 1_000_000 };
  const options = { plan: PLAN, signal: AbortSignal.timeout(60_000), pinned: false };
  return { rate: await wrkSide(load, self, { ...job, requests }, options)(), seen };
}

describe.skipIf(!HAS_WRK)("load by wrk", () => {
  it("sends each request in turn and measures rate, latency and CPU", async () => {
    const { rate, seen } = await measure(Number.POSITIVE_INFINITY);
    expect([...seen.keys()].sort()).toEqual(['{"text":"one \\r\\n"}', '{"text":"two \\"\\\\"}']);
    expect(rate.perSecond).toBeGreaterThan(0);
    expect(rate.p99Ms).toBeGreaterThanOrEqual(5);
    expect(rate.cpuMicros).toBeGreaterThanOrEqual(0);
  });

  it("fails when an answer has another status", async () => {
    await expect(measure(8)).rejects.toThrow(/of \d+ answers had a status of 400 or more, not 200/);
  });
});
