// npm test [-- vitest filter or option …]: every test but the labs, the check among them; with a filter those
// it names, in the labs too. The last line is always the count: "N passed, N failed".
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";

import { ROOT, toolEnvironment } from "./tooling/command.ts";
import { findLeaks } from "./tooling/leaks.ts";
import { openMemoryFolder } from "./tooling/memory-folder.ts";
import { killDescendants } from "./tooling/process-tree.ts";
import { paint } from "./tooling/run-parts.ts";
import { stopOnSignals } from "./tooling/signals.ts";
import { watchedRun } from "./tooling/watched-run.ts";

/** For a machine that does much else. The longest limit of a test is 600 s. */
const LIMITS = { quietMs: 660_000, exitMs: 90_000, leftoversMs: 10_000, totalMs: 2_400_000 };

const filters = process.argv.slice(2);
const everything = ["--project=unit", "--project=system"];
const stop = stopOnSignals();

heading("tests");
const record = await mkdtemp(path.join(os.tmpdir(), "toolgate-record-"));
const memory = openMemoryFolder();
const tested = await watchedRun({
  program: "vitest",
  args: ["run", "--root=.", "--config=test/vitest.config.ts", ...(filters.length > 0 ? filters : everything)],
  cwd: ROOT,
  env: {
    ...toolEnvironment(process.stdout.isTTY),
    TEST_RECORD: record,
    // Hundreds of processes load the same modules. Goes with the run: copies of the sources add theirs.
    NODE_COMPILE_CACHE: path.join(memory ?? record, "compiled"),
    // The checkers of types are Go programs: collecting garbage less often saves a fifth of their time.
    GOGC: "400",
    ...(memory !== undefined && { TEST_DATABASES: memory }),
  },
  limits: LIMITS,
  signal: stop.signal,
  write: (line) => process.stdout.write(`${line}\n`),
});

if (memory !== undefined) await rm(memory, { recursive: true, force: true });

heading("secrets");
const kept = await keptSecrets();

const passed = tested.passed + kept.passed;
const failed = tested.failed + kept.failed;
const skipped = tested.skipped > 0 ? `, ${tested.skipped} skipped` : "";
process.stdout.write(`\n${passed} passed, ${failed} failed${skipped}\n`);
killDescendants();
process.exit(stop.exitCode() ?? (failed === 0 ? 0 : 1));

function heading(name: string): void {
  process.stdout.write(`\n${paint(process.stdout, "bold", `== ${name}`)}\n`);
}

/**
 * One test more: no secret that a test made is in anything that was logged or answered during the whole run.
 */
async function keptSecrets(): Promise<{ passed: number; failed: number }> {
  try {
    const { secrets, bytes, leaks } = await findLeaks(record);
    // Some tests make no secrets; all of them together do, or nothing was recorded.
    const looked = filters.length > 0 || (secrets > 0 && bytes > 0);
    for (const leak of leaks) process.stdout.write(`${leak}\n`);
    process.stdout.write(
      `${secrets} secrets looked for in ${bytes} bytes of logs and errors: ${leaks.length} found\n`,
    );
    return looked && leaks.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
  } finally {
    await rm(record, { recursive: true, force: true });
  }
}
