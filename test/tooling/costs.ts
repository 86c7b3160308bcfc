import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { z } from "zod";

import { ROOT } from "./command.ts";

/** CPU time of one test file with its processes, ms. */
const fileCost = z.object({ file: z.string(), cpuMs: z.number() });

/** What the kernel counts in, on every platform that Node runs on. */
const TICK_MS = 10;
const SHOWN = 10;

/**
 * CPU time of a process, of its descendants that live, and of those that ended and were waited for, ms.
 * Needs /proc: 0 on other systems.
 */
export function cpuMs(root: number): number {
  const table = new Map<number, { readonly parent: number; readonly ticks: number }>();
  for (const pid of processIds()) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // proc(5): the fields 14 to 17 are the times of the process and of its ended children; 4 is its parent.
      const fields = stat
        .slice(stat.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number);
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + field, 0);
      table.set(pid, { parent: fields[1] ?? 0, ticks });
    } catch {
      // It has ended.
    }
  }
  const isOurs = (pid: number): boolean => pid === root || (pid > 1 && isOurs(table.get(pid)?.parent ?? 0));
  return [...table].reduce((sum, [pid, { ticks }]) => sum + (isOurs(pid) ? ticks : 0), 0) * TICK_MS;
}

/** Adds a file's cost to the record of the run; without one, does nothing. */
export function writeCost(file: string, cost: number): void {
  const record = process.env["TEST_RECORD"];
  if (record === undefined) return;
  const line = { file: path.relative(ROOT, file), cpuMs: cost };
  appendFileSync(path.join(record, "costs"), `${JSON.stringify(line)}\n`);
}

/** The most expensive files and the sum of all, as lines to print. */
export async function costLines(record: string): Promise<string[]> {
  const text = await readFile(path.join(record, "costs"), "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => line !== "");
  const files = lines.map((line) => fileCost.parse(JSON.parse(line))).sort((a, b) => b.cpuMs - a.cpuMs);
  const sum = files.reduce((total, { cpuMs: cost }) => total + cost, 0);
  return [
    ...files.slice(0, SHOWN).map(({ file, cpuMs: cost }) => `${seconds(cost)} ${file}`),
    `${seconds(sum)} ${files.length} files`,
    `${seconds(cpuMs(process.pid))} the whole run, with its database and vitest`,
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1).padStart(7)} s`;
}

function processIds(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}
