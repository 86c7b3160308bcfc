import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { command, ROOT } from "../tooling/command.ts";

const LONG = "--seed 9 --profile storm --duration 300 --phase 300 --customers 12".split(" ");

/** `npm run faults:check`: also under load. */
const THOROUGH = process.env["FAULTS"] === "everything";

const STARTING = ["during its start", { prints: /^/, processes: 1, signal: "SIGINT", ends: 130 }] as const;
const LOADED = ["under load", { prints: /kill [1-9]/, processes: 9, signal: "SIGTERM", ends: 143 }] as const;

/** All descendants of a process. */
async function startedBy(pid: number): Promise<number[]> {
  const { output } = await command("ps", ["-A", "-o", "pid=,ppid="]);
  const pairs = Array.from(output.matchAll(/^ *(\d+) +(\d+)$/gm), ([, child, parent]) => ({
    child: Number(child),
    parent: Number(parent),
  }));
  const found = [pid];
  for (const one of found)
    found.push(...pairs.filter(({ parent }) => parent === one).map(({ child }) => child));
  return found.slice(1);
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a signal", () => {
  it.each(THOROUGH ? [STARTING, LOADED] : [STARTING])(
    "ends the fault lab %s, with all its processes and no violation",
    async (_when, stop) => {
      const lab = spawn("node", ["test/faults/main.ts", ...LONG], {
        cwd: ROOT,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let printed = "";
      lab.stderr.setEncoding("utf8").on("data", (chunk: string) => (printed += chunk));
      const [report, ended] = [text(lab.stdout), once(lab, "exit")];
      let started: number[] = [];
      const isReady = async () => {
        started = await startedBy(lab.pid ?? 0);
        return lab.exitCode !== null || (stop.prints.test(printed) && started.length >= stop.processes);
      };
      await expect.poll(isReady, { interval: 200 }).toBe(true);
      lab.kill(stop.signal);
      const [code] = await ended;
      expect([code, started.filter(lives)], printed).toEqual([stop.ends, []]);
      const shown = await report;
      expect(shown).toMatch(/stopped +true\n/);
      expect(shown).toMatch(/broken promises +0\n/);
      expect(shown, "what a signal ends is not checked").not.toMatch(/quiet [1-9]/);
    },
  );
});
