import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { z } from "zod";
import type { LoadProcess } from "./load.ts";
import type { LoadJob } from "./load-messages.ts";
import type { Plan, Rate, Side } from "./measure.ts";
import type { ServerProcess } from "./server-process.ts";

const run = promisify(execFile);

/** Cores of the server and of wrk. */
const [SERVER_CORE, WRK_CORE] = ["0", "1"];

/** Whether the system has wrk, and taskset with two cores to pin to. */
export const HAS_WRK = spawnSync("taskset", ["-c", "0,1", "wrk", "-v"]).stdout?.includes("wrk") ?? false;

const report = z.object({
  answers: z.int().positive(),
  micros: z.int().positive(),
  p50: z.number(),
  p99: z.number(),
  failures: z.literal(0),
  /** Answers with a status of 400 or more. */
  refused: z.int(),
});

/** How a round is measured. */
export interface WrkOptions {
  readonly plan: Plan;
  readonly signal: AbortSignal;
  /** Whether wrk and the server get a core each. */
  readonly pinned: boolean;
}

/**
 * A side under load by wrk, which takes less CPU than a generator on Node. The Node generator warms up and
 * checks whole answers; wrk checks statuses.
 */
export function wrkSide(
  checker: LoadProcess,
  server: Pick<ServerProcess, "pid" | "cpuSeconds">,
  job: LoadJob,
  { plan, signal, pinned }: WrkOptions,
): Side {
  return async () => {
    if (pinned) await run("taskset", ["-a", "-c", "-p", SERVER_CORE, String(server.pid)]);
    await checker.start(job);
    await sleep(plan.warmUpMs, undefined, { signal });
    await checker.sample();
    await checker.pause();
    const cpuBefore = await server.cpuSeconds();
    const rate = await measure(job, Math.ceil(plan.windowMs / 1000), pinned, signal);
    const cpu = (await server.cpuSeconds()) - cpuBefore;
    return { ...rate, cpuMicros: (cpu * 1_000_000) / (rate.perSecond * rate.seconds) };
  };
}

async function measure(
  { host, port, connections, requests, expect }: LoadJob,
  seconds: number,
  pinned: boolean,
  signal: AbortSignal,
): Promise<Rate & { readonly seconds: number }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-wrk-"));
  try {
    const script = path.join(folder, "load.lua");
    await writeFile(script, luaOf(requests));
    const load = ["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, `http://${host}:${port}`];
    const [file = "", ...args] = pinned ? ["taskset", "-c", WRK_CORE, ...load] : load;
    const { stdout } = await run(file, args, { signal });
    const { answers, micros, p50, p99, refused } = report.parse(
      JSON.parse(stdout.trim().split("\n").at(-1) ?? ""),
    );
    if (refused !== (expect.status >= 400 ? answers : 0))
      throw new Error(`${refused} of ${answers} answers had a status of 400 or more, not ${expect.status}`);
    return {
      perSecond: answers / (micros / 1_000_000),
      ...{ seconds: micros / 1_000_000, p50Ms: p50 / 1000, p99Ms: p99 / 1000 },
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A single request is made once: a global `request` would call Lua for each. */
function luaOf(requests: readonly string[]): string {
  return `
local requests, turn = {${requests.map(luaText).join(", ")}}, 0
wrk.format = function() return requests[1] end
${requests.length > 1 ? "request = function() turn = turn % #requests + 1 return requests[turn] end" : ""}
done = function(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '{"answers":%d,"micros":%d,"p50":%f,"p99":%f,"failures":%d,"refused":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    failed.connect + failed.read + failed.write + failed.timeout, failed.status))
end
`;
}

/** A Lua string in decimal escapes. */
function luaText(text: string): string {
  return `"${Array.from(Buffer.from(text), (byte) => `\\${String(byte).padStart(3, "0")}`).join("")}"`;
}
