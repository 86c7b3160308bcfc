import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { command, ROOT } from "../tooling/command.ts";
import { THOROUGH } from "./thorough.ts";

/** All descendants of a process. */
async function startedBy(pid: number): Promise<number[]> {
  const { output } = await command("ps", ["-A", "-o", "pid=,ppid="]);
  const lines = output.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const parent of found)
    for (const [child, itsParent] of lines)
      if (child !== undefined && itsParent === parent) found.push(child);
  return found.slice(1);
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Starts the run, waits for enough output and processes, and sends a signal. */
async function stopWhen(
  { prints, processes }: { prints: RegExp; processes: number },
  signal: "SIGINT" | "SIGTERM",
) {
  const args = [
    "test/faults/main.ts",
    "--seed",
    "9",
    "--profile",
    "storm",
    "--duration",
    "300",
    "--phase",
    "300",
  ];
  args.push("--customers", "12");
  const lab = spawn("node", args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  let reported = "";
  lab.stderr.setEncoding("utf8").on("data", (chunk: string) => (reported += chunk));
  const report = text(lab.stdout);
  const ended = once(lab, "exit");
  let started: number[] = [];
  while (lab.exitCode === null && (!prints.test(reported) || started.length < processes)) {
    await sleep(200);
    started = await startedBy(lab.pid ?? 0);
  }
  lab.kill(signal);
  const [code] = await ended;
  return { code, report: await report, reported, left: started.filter(lives) };
}

describe("a signal", () => {
  it("ends the fault run during its start, with all its processes", async () => {
    const { code, report, left, reported } = await stopWhen({ prints: /^/, processes: 1 }, "SIGINT");
    expect([code, left], reported).toEqual([130, []]);
    expect(report).toMatch(/broken promises +0\n/);
  });

  it.runIf(THOROUGH)(
    "ends the fault run under load and reports no unfinished check as a violation",
    async () => {
      const { code, report, left, reported } = await stopWhen(
        { prints: /kills [1-9]/, processes: 10 },
        "SIGTERM",
      );
      expect([code, left], reported + report).toEqual([143, []]);
      expect(report).toMatch(/ended by a signal/);
      expect(report, "nothing is looked at that a signal ends").toMatch(/audits, quiet points +\d+, 0\n/);
      expect(report).toMatch(/broken promises +0\n/);
    },
  );
});
