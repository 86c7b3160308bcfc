import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";

import { ROOT, toolEnvironment } from "./command.ts";
import { watchedRun, type RunLimits } from "./watched-run.ts";

const HOUR = 3_600_000;
const LIMITS: RunLimits = { quietMs: HOUR, exitMs: HOUR, leftoversMs: 60_000, totalMs: HOUR };

/** Reports that it runs and waits until that was seen: vitest passes events on with a delay. */
const IS_SEEN = `import { existsSync, writeFileSync } from "node:fs";
async function isSeen() {
  writeFileSync(process.env.STARTED, "");
  while (!existsSync(process.env.SEEN)) await new Promise((resolve) => setTimeout(resolve, 20));
}`;

/** Blocks its thread for good: no limit of vitest ends that. */
const HANGS = `${IS_SEEN}
it("passes", () => {});
it("blocks its thread", async () => {
  process.on("SIGTERM", () => {});
  await isSeen();
  // Hangs for good; if the process is killed, the worker ends as well.
  for (const end = Date.now() + 120_000; Date.now() < end; );
}, 100_000);`;

/** @param stdio "inherit": it holds the worker's output, which vitest waits for without a limit */
const leavesChild = (stdio: string) => `import { spawn } from "node:child_process";
${IS_SEEN}
it("leaves a child", async () => {
  const options = { detached: true, stdio: ["ignore", "${stdio}", "${stdio}"] };
  const stays = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  spawn(process.execPath, ["-e", stays], options).unref();
  await isSeen();
}, 100_000);`;

const FILES = {
  hangs: HANGS,
  passes: `it("passes", () => {});`,
  fails: `it("fails", () => { throw new Error("no"); }); it.skip("is skipped", () => {});`,
  holds: leavesChild("inherit"),
  left: leavesChild("ignore"),
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-watched-"));
  for (const [name, text] of Object.entries(FILES))
    await writeFile(path.join(folder, `${name}.test.mjs`), text);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Trial {
  readonly limits?: Partial<RunLimits>;
  readonly signal?: AbortSignal;
  /** Called after the hanging test was seen. */
  readonly onSeen?: () => void;
  /** From then on, three hours pass whenever the clock is read. */
  readonly hoursPass?: boolean;
}

/** Polls of a run after which its events have arrived. */
const LOOKS = 4;

let trials = 0;
async function run(names: readonly string[], { limits = {}, signal, onSeen, hoursPass = false }: Trial = {}) {
  const lines: string[] = [];
  const mark = path.join(folder, `mark-${trials++}`);
  const [STARTED, SEEN] = [`${mark}.started`, `${mark}.seen`];
  let looks = 0;
  const counts = await watchedRun({
    program: "vitest",
    args: ["run", `--root=${folder}`, "--globals", "--pool=forks", ...names],
    cwd: ROOT,
    env: { ...toolEnvironment(false), STARTED, SEEN },
    limits: { ...LIMITS, ...limits },
    signal: signal ?? new AbortController().signal,
    write: (line) => lines.push(...line.split("\n")),
    output: "ignore",
    now: () => {
      if (!existsSync(STARTED) || ++looks < LOOKS) return performance.now();
      if (looks === LOOKS) {
        writeFileSync(SEEN, "");
        onSeen?.();
      }
      return performance.now() + (hoursPass ? 3 * HOUR * (looks - LOOKS) : 0);
    },
  });
  const pids = lines.map((line) => Number(/process (\d+)/.exec(line)?.[1])).filter((pid) => pid > 0);
  return { counts, lines, alive: pids.filter(isAlive), named: pids.length };
}

/** A zombie waits for its parent alone. */
function isAlive(pid: number): boolean {
  const status = `/proc/${pid}/status`;
  return existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, "utf8"));
}

describe.concurrent("a watched run", () => {
  it("counts the tests that vitest runs", async ({ expect }) => {
    const { counts, lines } = await run(["passes", "fails"]);
    expect([counts, lines]).toEqual([{ passed: 1, failed: 1, skipped: 1 }, []]);
  });

  it("ends a worker that blocks its thread and ignores SIGTERM, and names file and test", async ({
    expect,
  }) => {
    const { counts, lines, alive, named } = await run(["hangs"], {
      limits: { quietMs: 2 * HOUR, totalMs: Infinity },
      hoursPass: true,
    });
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(lines.slice(0, 2)).toEqual([
      "HUNG hangs.test.mjs: no progress for 7200 s",
      "  in blocks its thread",
    ]);
    expect(named).toBeGreaterThan(0);
    expect(alive).toEqual([]);
  });

  it("ends a child process that keeps vitest from ending, and names its file", async ({ expect }) => {
    const { counts, lines, alive } = await run(["holds"], { limits: { exitMs: 1_000 } });
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(lines[0]).toMatch(/^HUNG vitest did not end 1 s after its last file/);
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}process \d+ running, first seen during holds.test.mjs: .*SIGTERM/),
    );
    expect(alive).toEqual([]);
  });

  it("ends a child process that outlives vitest, and counts it as a failure", async ({ expect }) => {
    const { counts, lines, alive } = await run(["left"], { limits: { leftoversMs: 500 } });
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(lines).toEqual([
      expect.stringMatching(/^ {2}process \d+ left behind, first seen during left.test.mjs: .*SIGTERM/),
    ]);
    expect(alive).toEqual([]);
  });

  it("ends at its total time limit", async ({ expect }) => {
    const { counts, lines } = await run(["hangs"], { limits: { quietMs: Infinity }, hoursPass: true });
    expect(counts).toMatchObject({ passed: 1, failed: 1 });
    expect(lines[0]).toBe("HUNG hangs.test.mjs: not at its end when the tests had taken 3600 s");
  });

  it("ends when interrupted", async ({ expect }) => {
    const controller = new AbortController();
    const { counts, lines } = await run(["hangs"], {
      signal: controller.signal,
      onSeen: () => controller.abort(),
    });
    expect([counts.failed, lines]).toEqual([1, []]);
  });

  it("counts a failure when vitest finds no test", async ({ expect }) => {
    expect((await run(["nothing-of-this-name"])).counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});
