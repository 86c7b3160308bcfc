import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";

import { ROOT, toolEnvironment } from "./command.ts";
import type { Counts, RunLimits } from "./watched-run.ts";

const HOUR = 3_600_000;

/** @param stdio "inherit": it holds the worker's output, which vitest waits for without a limit */
const leavesChild = (stdio: string) => `import { spawn } from "node:child_process";
it("leaves a child", () => {
  const options = { detached: true, stdio: ["ignore", "${stdio}", "${stdio}"] };
  const stays = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  spawn(process.execPath, ["-e", stays], options).unref();
});`;

const FILES = {
  // Blocks its thread: no limit of vitest ends that. If the run does not kill it, it ends by itself.
  hangs: `it("passes", () => {});
it("blocks its thread", () => {
  process.on("SIGTERM", () => {});
  for (const end = Date.now() + 120_000; Date.now() < end; );
}, 100_000);`,
  waits: `import { writeFileSync } from "node:fs";
it("waits", async () => {
  writeFileSync("waiting", "");
  await new Promise(() => {});
}, 100_000);`,
  passes: `it("passes", () => {});`,
  fails: `it("fails", () => { throw new Error("no"); }); it.skip("is skipped", () => {});`,
  broken: `import "./missing.mjs";`,
  throws: `it("passes", () => { setImmediate(() => { throw new Error("outside"); }); });
it("waits", () => new Promise(setImmediate));`,
  skipped: `it.skip("is skipped", () => {});`,
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
  readonly counts: Counts;
  readonly lines: readonly string[];
  /** Processes that were named and still live. */
  readonly alive: readonly number[];
}

/**
 * Runs the files in a process of its own, as npm test does.
 * @param until file whose appearance interrupts the run
 */
async function run(
  names: readonly string[],
  limits: Partial<RunLimits> = {},
  until = "never",
): Promise<Trial> {
  const runner = JSON.stringify(path.join(ROOT, "test/tooling/watched-run.ts"));
  const program = `import { existsSync } from "node:fs";
    import { watchedRun } from ${runner};
    const lines = [];
    const stop = new AbortController();
    setInterval(() => existsSync("${until}") && stop.abort(), 50).unref();
    const counts = await watchedRun({
      args: ${JSON.stringify([`--root=${folder}`, "--globals", "--pool=forks", ...names])},
      mark: "WATCHED=" + process.env.WATCHED,
      limits: ${JSON.stringify({ quietMs: HOUR, exitMs: HOUR, leftoversMs: 60_000, ...limits })},
      signal: stop.signal,
      write: (line) => lines.push(...line.split("\\n")),
    });
    process.send({ counts, lines }, () => process.exit());`;
  const child = spawn("node", ["--input-type=module", "-e", program], {
    cwd: folder,
    env: { ...toolEnvironment(false), WATCHED: `${folder}/${names.join()}/${until}` },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const { counts, lines } = await new Promise<Pick<Trial, "counts" | "lines">>((resolve, reject) => {
    child.on("message", (message: Pick<Trial, "counts" | "lines">) => resolve(message));
    child.on("exit", (code) => reject(new Error(`the run ended without an answer: ${code}`)));
  });
  const pids = lines.map((line) => Number(/process (\d+)/.exec(line)?.[1])).filter((pid) => pid > 0);
  return { counts, lines, alive: pids.filter(isAlive) };
}

/** A zombie waits for its parent alone. */
function isAlive(pid: number): boolean {
  const status = `/proc/${pid}/status`;
  return existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, "utf8"));
}

describe.concurrent("a watched run", () => {
  it("counts the tests that vitest runs, and files that do not load, and names what is red", async ({
    expect,
  }) => {
    const { counts, lines } = await run(["passes", "fails", "broken"]);
    expect(counts).toMatchObject({ passed: 1, failed: 2, skipped: 1 });
    expect([...counts.red].sort()).toEqual(["broken.test.mjs", "fails.test.mjs > fails"]);
    expect(lines).toEqual([]);
  });

  it("counts an error outside of every test as a failure", async ({ expect }) => {
    expect((await run(["throws"])).counts.failed).toBeGreaterThan(0);
  });

  it.for(["nothing-of-this-name", "skipped"])("counts a run of %s as a failure", async (name, { expect }) => {
    expect((await run([name])).counts).toMatchObject({ passed: 0, failed: 1 });
  });

  it("ends a worker that blocks its thread and ignores SIGTERM, and names its file", async ({ expect }) => {
    const { counts, lines, alive } = await run(["hangs"], { quietMs: 3_000 });
    expect(counts).toMatchObject({ failed: 1, skipped: 0 });
    expect(lines[0]).toBe("HUNG hangs.test.mjs: no progress for 3 s");
    expect(lines.filter((line) => line.includes(" running, first seen during"))).not.toEqual([]);
    expect(alive).toEqual([]);
  });

  it("ends a child process that keeps vitest from ending, and names its file", async ({ expect }) => {
    const { counts, lines, alive } = await run(["holds"], { exitMs: 1_000, leftoversMs: 500 });
    expect(counts).toMatchObject({ passed: 1, failed: 1 });
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}process \d+ (running|left behind), first seen during .*: .*SIGTERM/),
    );
    expect(alive).toEqual([]);
  });

  it("ends a child process that outlives vitest, and counts it as a failure", async ({ expect }) => {
    const { counts, lines, alive } = await run(["left"], { leftoversMs: 500 });
    expect(counts).toMatchObject({ passed: 1, failed: 1 });
    expect(lines).toEqual([
      expect.stringMatching(/^ {2}process \d+ left behind, first seen during .*: .*SIGTERM/),
    ]);
    expect(alive).toEqual([]);
  });

  it("ends when interrupted", async ({ expect }) => {
    const { counts, lines } = await run(["waits"], {}, "waiting");
    expect(counts.red).toEqual(["waits.test.mjs", "interrupted"]);
    expect(lines).toEqual([]);
  });
});
