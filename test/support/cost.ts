import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";

/** Resources of this process for some work. */
export interface Cost {
  /** CPU time of all threads, ms. */
  cpuMs: number;
  /** The longest time for which nothing else could run on the event loop, ms. */
  stallMs: number;
  /** The most that resident memory grew by, bytes. */
  grownBytes: number;
}

/** Measures work, the tests' own client included. */
export async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const before = process.memoryUsage.rss();
  let most = before;
  const sampler = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
  const started = process.cpuUsage();
  delay.enable();
  await work();
  const { user, system } = process.cpuUsage(started);
  delay.disable();
  clearInterval(sampler);
  const grownBytes = Math.max(most, process.memoryUsage.rss()) - before;
  return { cpuMs: (user + system) / 1000, stallMs: delay.max / 1e6, grownBytes };
}

/** Repeats work, one after the other. */
export async function repeat(times: number, work: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < times; done++) await work();
}
