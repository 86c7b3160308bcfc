// npm test [-- vitest filter or option …]: every test but the labs, the check among them; with a filter those
// it names, in the labs too. The last line is always the count: "N passed, N failed".
import { mkdtemp } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";

import { ROOT, toolEnvironment } from "./tooling/command.ts";
import { costLines } from "./tooling/costs.ts";
import { findLeaks } from "./tooling/leaks.ts";
import { openMemoryFolder, removeRunFolder } from "./tooling/memory-folder.ts";
import { killDescendants } from "./tooling/process-tree.ts";
import { paint } from "./tooling/run-parts.ts";
import { stopOnSignals } from "./tooling/signals.ts";
import { watchedRun } from "./tooling/watched-run.ts";

/** For a machine that does much else. The longest limit of a test is 600 s. */
const LIMITS = { quietMs: 660_000, exitMs: 90_000, leftoversMs: 10_000 };

const filters = process.argv.slice(2);
const everything = ["--project=unit", "--project=system"];
const stop = stopOnSignals();

heading("tests");
const record = await mkdtemp(path.join(os.tmpdir(), "toolgate-record-"));
const memory = openMemoryFolder();
// Before vitest is loaded, which decides about colours then.
Object.assign(process.env, toolEnvironment(process.stdout.isTTY), {
  TEST_RECORD: record,
  // Hundreds of processes load the same modules. Goes with the run: copies of the sources add theirs.
  NODE_COMPILE_CACHE: path.join(memory ?? record, "compiled"),
  // The checkers of types are Go programs: collecting garbage less often saves a fifth of their time.
  GOGC: "400",
  ...(memory !== undefined && { TEST_DATABASES: memory }),
});
const tested = await watchedRun({
  args: [`--root=${ROOT}`, "--config=test/vitest.config.ts", ...(filters.length > 0 ? filters : everything)],
  mark: `TEST_RECORD=${record}`,
  limits: LIMITS,
  signal: stop.signal,
  write: print,
});
if (memory !== undefined) await removeRunFolder(memory);

heading("CPU time");
for (const line of await costLines(record)) print(line);

heading("secrets");
const leaked = await leaks();
await removeRunFolder(record);

const red = [...tested.red, ...leaked];
if (red.length > 0) heading("red");
for (const line of red) print(`RED ${line}`);
const passed = tested.passed + (leaked.length === 0 ? 1 : 0);
print(`\n${passed} passed, ${red.length} failed${tested.skipped > 0 ? `, ${tested.skipped} skipped` : ""}`);
killDescendants();
process.exit(stop.exitCode() ?? (red.length === 0 ? 0 : 1));

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function heading(name: string): void {
  print(`\n${paint(process.stdout, "bold", `== ${name}`)}`);
}

/** One test more: no secret that a test made is in anything that was logged or answered during the run. */
async function leaks(): Promise<string[]> {
  const { secrets, bytes, leaks: found } = await findLeaks(record);
  print(`${secrets} secrets looked for in ${bytes} bytes of logs and errors: ${found.length} found`);
  // Some tests make no secrets; all of them together do, or nothing was recorded.
  const recorded = filters.length > 0 || (secrets > 0 && bytes > 0);
  return recorded ? [...found] : ["no secrets were recorded"];
}
