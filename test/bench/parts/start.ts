import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Part } from "../bench.ts";
import { median } from "../measure.ts";
import { treeUse } from "../process-tree.ts";
import { plainLine, type Line } from "../report.ts";

/** How long the sandbox has to prove itself, at least and at most, and CPU time is then counted, ms. */
const [SETTLED_MS, PROVED_MS, COUNTED_MS] = [30_000, 180_000, 10_000];
/** Use of a core, above which the sandbox still proves itself: at low priority that takes long. */
const BUSY = 0.03;

/** The start of `serve` until it is ready, and its resources when idle, with the sandbox on. */
export const start: Part = {
  name: "start",
  title: "11. start and idle",
  why: "Operators of small machines, and of deployments that restart often",
  async run(bench) {
    const [bare, ready]: [number[], number[]] = [[], []];
    for (let round = 0; round < bench.plan.rounds; round++) {
      let began = performance.now();
      await once(spawn(process.execPath, ["-e", "0"]), "exit");
      bare.push((performance.now() - began) / 1000);
      began = performance.now();
      const { server } = await bench.serve();
      ready.push((performance.now() - began) / 1000);
      await server.stop();
    }
    const [ours, node] = [median(ready) ?? Number.NaN, median(bare) ?? Number.NaN];
    return [plainLine("until ready", ours, "node -e 0", node, "s"), ...(await idle(bench))];
  },
};

async function idle(bench: Bench): Promise<Line[]> {
  const { plan, signal } = bench;
  const { server } = await bench.serve({ env: { SANDBOX_ISOLATION: "auto" } });
  const pid = server.pid ?? 0;
  if (!plan.quick) await settle(pid, signal);
  const [began, before] = [performance.now(), await treeUse(pid)];
  await sleep(plan.quick ? plan.windowMs : COUNTED_MS, undefined, { signal });
  const [seconds, after] = [(performance.now() - began) / 1000, await treeUse(pid)];
  if (!before || !after) return [];
  const busy = (after.cpuSeconds - before.cpuSeconds) / seconds;
  const row = (measure: string, gateway: string): Line => ({ measure, gateway, peer: "" });
  return [
    row("memory, gateway and sandbox", `${after.ownMb.toFixed(0)} + ${after.othersMb.toFixed(0)} MB`),
    row("CPU when idle", `${(busy * 100).toFixed(1)} % of a core`),
  ];
}

/** Waits until the processes of a gateway have little left to do. */
async function settle(pid: number, signal: AbortSignal): Promise<void> {
  await sleep(SETTLED_MS, undefined, { signal });
  for (let waited = SETTLED_MS; waited < PROVED_MS; waited += COUNTED_MS) {
    const before = await treeUse(pid);
    await sleep(COUNTED_MS, undefined, { signal });
    const after = await treeUse(pid);
    if (!before || !after || after.cpuSeconds - before.cpuSeconds < (BUSY * COUNTED_MS) / 1000) return;
  }
}
