import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import { isShort, median } from "./measure.ts";
import { treeUse } from "./process-tree.ts";
import type { Line } from "./report.ts";

/** Limit of the start time beyond Node's own, seconds. */
const ALLOWANCE_S = 1;
/** Limits of an idle gateway with the sandbox on: MB of the process and of its children, share of a core. */
const [IDLE_MB, CHILDREN_MB, IDLE_CPU] = [130, 250, 0.005];
/** How long its sandbox has to prove itself, at least and at most, and CPU time is then counted, ms. */
const [SETTLED_MS, PROVED_MS, COUNTED_MS] = [30_000, 180_000, 10_000];
/** Use of a core, above which the sandbox still proves itself: at low priority that takes long. */
const BUSY = 0.03;

/** Measures the start time of `serve`, and its resources when idle. */
export async function start(bench: Bench): Promise<Line[]> {
  const { world, plan } = bench;
  const [bare, ready]: [number[], number[]] = [[], []];
  for (let round = 0; round < plan.rounds; round++) {
    bare.push(await secondsOf(() => once(spawn(process.execPath, ["-e", "0"]), "exit")));
    const began = performance.now();
    const { server } = await world.serve();
    ready.push((performance.now() - began) / 1000);
    await server.stop();
  }
  const [bareSeconds = 0, readySeconds = 0] = [median(bare), median(ready)];
  return [
    {
      measure: "start of serve, beyond Node's own",
      gateway: `${readySeconds.toFixed(2)} s`,
      peer: `node -e 0 ${bareSeconds.toFixed(2)} s, + ${ALLOWANCE_S} s`,
      value: (readySeconds - bareSeconds) / ALLOWANCE_S,
      bar: { atMost: 1 },
    },
    ...(await idle(bench)),
  ];
}

async function idle({ world, plan, signal }: Bench): Promise<Line[]> {
  const { server } = await world.serve({ env: { SANDBOX_ISOLATION: "auto" } });
  try {
    const pid = server.pid ?? 0;
    if (!isShort(plan)) await settle(pid, signal);
    const [began, before] = [performance.now(), await treeUse(pid)];
    await sleep(isShort(plan) ? plan.windowMs : COUNTED_MS, undefined, { signal });
    const [seconds, after] = [(performance.now() - began) / 1000, await treeUse(pid)];
    if (!before || !after) return [];
    const busy = (after.cpuSeconds - before.cpuSeconds) / seconds;
    const line = (measure: string, unit: string, used: number, limit: number): Line => ({
      ...{ measure, gateway: `${used.toFixed(used < 10 ? 1 : 0)} ${unit}`, peer: `${limit} ${unit}` },
      ...{ value: used / limit, bar: { atMost: 1 } },
    });
    return [
      line("idle memory (RSS)", "MB", after.ownMb, IDLE_MB),
      line("idle memory of the sandbox's processes (RSS)", "MB", after.othersMb, CHILDREN_MB),
      line("idle CPU of all processes", "% of a core", busy * 100, IDLE_CPU * 100),
    ];
  } finally {
    await server.stop();
  }
}

/** Waits until the processes of a gateway have little left to do. */
async function settle(pid: number, signal: AbortSignal): Promise<void> {
  await sleep(SETTLED_MS, undefined, { signal });
  for (let waited = SETTLED_MS; waited < PROVED_MS; waited += COUNTED_MS) {
    const before = await treeUse(pid);
    await sleep(COUNTED_MS, undefined, { signal });
    const after = await treeUse(pid);
    if (!before || !after) return;
    // The time of a process that ended is missing from the sum.
    if (Math.abs(after.cpuSeconds - before.cpuSeconds) < (BUSY * COUNTED_MS) / 1000) return;
  }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}
