import { readdir, readlink } from "node:fs/promises";
import os from "node:os";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { SandboxEngine, SandboxStatus } from "../../src/domain/tools/sandbox.ts";
import { read } from "../../src/sandbox/process/process-table.ts";
import { job } from "./contract-code.ts";
import { outcomeOf } from "./engine-contract.ts";
import { descendants } from "./process-watch.ts";

/** Resources after some executions minus those before. */
export interface Leftovers {
  readonly processes: number;
  readonly descriptors: number;
  readonly files: number;
  /** Resident memory of this process, MiB. */
  readonly residentMb: number;
}

/** One execution per fast ending. */
const WAYS: readonly (readonly [string, SandboxStatus])[] = [
  ["export default [1, 2, 3].map((n) => n * 2);", "succeeded"],
  ['console.log("x".repeat(10_000)); console.error("y");', "succeeded"],
  ['throw new Error("no");', "failed"],
  ["Deno.exit(3);", "failed"],
  ['for (;;) console.log("x".repeat(10_000));', "output_limit"],
];

/** Warm-up runs for one-time allocations. */
const WARM_UP = 10;

/**
 * Runs code repeatedly and measures what remains.
 * @param idle number of idle workers to ignore
 * @throws Error if an execution ends unexpectedly
 */
export async function leftoversOf(engine: SandboxEngine, idle: number, runs: number): Promise<Leftovers> {
  await runAll(engine, WARM_UP);
  const before = await standing(idle);
  await runAll(engine, runs);
  let after = await standing(idle);
  // Closing is asynchronous.
  for (let round = 0; round < 20 && after.descriptors > before.descriptors; round++)
    after = await standing(idle);
  return {
    processes: after.processes - before.processes,
    descriptors: after.descriptors - before.descriptors,
    files: after.files - before.files,
    residentMb: after.residentMb - before.residentMb,
  };
}

async function runAll(engine: SandboxEngine, runs: number): Promise<void> {
  for (let run = 0; run < runs; run++) {
    const [code, status] = WAYS[run % WAYS.length]!;
    const outcome = await outcomeOf(engine, job(code));
    if (outcome.status !== status)
      throw new Error(`${code} ended ${outcome.status}: ${JSON.stringify(outcome.error)}`);
  }
}

/** Measures once the pool is full and killed processes are gone. */
async function standing(idle: number): Promise<Leftovers> {
  let [processes, same] = [-1, 0];
  for (let round = 0; round < 200 && same < 10; round++) {
    await sleep(50);
    const now = descendants(process.pid);
    const workers = now.filter((pid) => read(`/proc/${pid}/comm`) === "deno\n");
    same = now.length === processes && workers.length >= idle ? same + 1 : 0;
    processes = now.length;
  }
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const [descriptors, files] = await Promise.all([openEnds(), readdir(os.tmpdir())]);
  const own = files.filter((name) => name.startsWith("toolgate-sandbox") || name.includes(`deno`));
  return {
    ...{ processes, descriptors, files: own.length },
    residentMb: process.memoryUsage.rss() / 2 ** 20,
  };
}

/** Pipes and sockets only: the test runner may have files open. */
async function openEnds(): Promise<number> {
  const names = await readdir("/proc/self/fd");
  const places = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return places.filter((place) => /^(?:pipe|socket):/.test(place)).length;
}
