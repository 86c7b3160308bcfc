import { parseArgs } from "node:util";
import os from "node:os";
import process from "node:process";
import { stopOnSignals } from "../tooling/signals.ts";
import { auditOfLedger } from "./audit-part.ts";
import type { Bench, Part, Scale } from "./bench.ts";
import { grpcEcho } from "./grpc-part.ts";
import { echo, paymentRequired } from "./http-part.ts";
import { LoadProcess } from "./load.ts";
import { mcp } from "./mcp-part.ts";
import type { Plan } from "./measure.ts";
import { paidCalls } from "./paid-part.ts";
import { isMet, table, type Line } from "./report.ts";
import { sandbox } from "./sandbox-part.ts";
import { ServerProcess } from "./server-process.ts";
import { start } from "./start-part.ts";
import { startWorld } from "./world.ts";
import { z } from "zod";

// npm run bench [-- --short] [--only start,echo,mcp,402,grpc,paid,audit,sandbox] [--rounds N] [--json] [--profile DIR]
// Measures the gateway against bare peers on the same machine in the same minutes; docs/performance.md tells what and why.

const PARTS: ReadonlyMap<string, Part> = new Map([
  ["start", start],
  ["echo", echo],
  ["mcp", mcp],
  ["402", paymentRequired],
  ["grpc", grpcEcho],
  ["paid", paidCalls],
  ["audit", auditOfLedger],
  ["sandbox", sandbox],
]);

const LONG = {
  plan: { rounds: 5, windowMs: 2_500, warmUpMs: 700 },
  scale: { accounts: 1000, connections: [16, 64], transfers: 1_000_000, executions: 500 },
};
const SHORT = {
  plan: { rounds: 1, windowMs: 200, warmUpMs: 50 },
  scale: { accounts: 5, connections: [16], transfers: 5_000, executions: 20 },
};

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
    json: { type: "boolean", default: false },
    profile: { type: "string" },
  },
});
const stop = stopOnSignals();
const parts = chosenParts(options.only);
const { plan: usual, scale } = options.short ? SHORT : LONG;
const plan = { ...usual, rounds: Number(options.rounds ?? usual.rounds) };

try {
  const lines = await runParts(parts, plan, scale);
  if (options.json)
    for (const line of lines) process.stdout.write(`${JSON.stringify({ ...line, met: isMet(line) })}\n`);
  else process.stdout.write(`${machine()}\n\n${table(lines)}\n`);
} catch (error) {
  if (!stop.signal.aborted) throw error;
}
process.exit(stop.exitCode() ?? 0);

function chosenParts(only: string | undefined): Part[] {
  const names = only?.split(",") ?? [...PARTS.keys()];
  return names.map((name) => {
    const part = PARTS.get(name);
    if (!part) throw new Error(`there is no part ${name}; there are ${[...PARTS.keys()].join(", ")}`);
    return part;
  });
}

async function runParts(parts: readonly Part[], plan: Plan, scale: Scale): Promise<Line[]> {
  const started: { stop(): Promise<void> }[] = [];
  const world = await startWorld();
  try {
    const gateway = await world.serve({ profile: options.profile });
    const bench: Bench = {
      ...{ world, gateway, plan, scale, signal: stop.signal },
      load(kind) {
        const load = new LoadProcess(kind);
        started.push(load);
        return load;
      },
      async peer(file, peerOptions) {
        const server = await ServerProcess.start(file, peerOptions);
        started.push(server);
        return { server, port: z.object({ port: z.int() }).parse(server.ready).port };
      },
    };
    const lines: Line[] = [];
    for (const part of parts) {
      stop.signal.throwIfAborted();
      lines.push(...(await part(bench)));
    }
    return lines;
  } finally {
    await Promise.allSettled(started.map((each) => each.stop()));
    await world.close();
  }
}

function machine(): string {
  const cpus = os.cpus();
  return `Node ${process.version}, ${os.type()} ${os.arch()}, ${cpus.length} x ${cpus[0]?.model}, ${(os.totalmem() / 2 ** 30).toFixed(0)} GiB`;
}
