import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import { median } from "./measure.ts";
import type { Line } from "./report.ts";

/** Limit of the start time beyond Node's own, seconds. */
const ALLOWANCE_S = 1;
/** Memory limit of an idle gateway, MB. */
const IDLE_MB = 160;
/** Delay of the memory sample after the start, ms. */
const SETTLED_MS = 5_000;

/** Measures the start time of `serve` and its idle memory. */
export async function start(bench: Bench): Promise<Line[]> {
  const { world, plan, signal } = bench;
  const [bare, ready, memory]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < plan.rounds; round++) {
    bare.push(await secondsOf(() => once(spawn(process.execPath, ["-e", "0"]), "exit")));
    const began = performance.now();
    const { server } = await world.serve();
    ready.push((performance.now() - began) / 1000);
    if (round === 0) {
      await sleep(Math.min(SETTLED_MS, plan.windowMs * 5), undefined, { signal });
      memory.push((await server.residentMegabytes()) ?? Number.NaN);
    }
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
    ...memory
      .filter((megabytes) => !Number.isNaN(megabytes))
      .map((megabytes): Line => ({
        measure: "idle memory (RSS)",
        gateway: `${megabytes.toFixed(0)} MB`,
        peer: `${IDLE_MB} MB`,
        value: megabytes / IDLE_MB,
        bar: { atMost: 1 },
      })),
  ];
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}
