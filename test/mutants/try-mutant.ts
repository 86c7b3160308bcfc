import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { command } from "../tooling/command.ts";
import { MisplacedError, switchOff, type Mutant, type Tests } from "./mutant.ts";
import { verdictOf, type Verdict } from "./verdict.ts";

/** Time limit of a test file, ms: a lost guard may loop forever. */
const FILE_LIMIT_MS = 300_000;

/** Time limit of a test and its hooks, ms. An expectation that polls longer catches no mutant. */
const TEST_LIMIT_MS = 40_000;

/** Runs the tests in a copy of the sources and returns the verdict. */
export async function runTests(
  folder: string,
  { files, only }: Tests,
  signal: AbortSignal,
): Promise<Verdict> {
  const report = path.join(os.tmpdir(), `toolgate-mutants-${randomUUID()}.json`);
  const limit = AbortSignal.timeout(FILE_LIMIT_MS * files.length);
  const options = ["--config=test/vitest.config.ts", "--root=.", "--maxWorkers=1", "--reporter=json"];
  options.push(`--testTimeout=${TEST_LIMIT_MS}`, `--hookTimeout=${TEST_LIMIT_MS}`);
  if (only !== undefined) options.push(`--testNamePattern=${only}`);
  try {
    await command("vitest", ["run", ...options, `--outputFile.json=${report}`, ...files], {
      cwd: folder,
      // Each isolation of the sandbox: bubblewrap hides the loss of a guard behind its own.
      env: { CORPUS: "everything" },
      signal: AbortSignal.any([signal, limit]),
    });
    signal.throwIfAborted();
    if (limit.aborted) return { kind: "invalid", why: "it does not end" };
    return verdictOf(await readFile(report, "utf8").catch(() => undefined));
  } finally {
    await rm(report, { force: true });
  }
}

/** Disables a guard in a copy of the sources, runs its tests and restores it. */
export async function tryMutant(folder: string, mutant: Mutant, signal: AbortSignal): Promise<Verdict> {
  const file = path.join(folder, mutant.file);
  const source = await readFile(file, "utf8");
  try {
    await writeFile(file, switchOff(mutant, source));
    return await runTests(folder, mutant, signal);
  } catch (error) {
    if (!(error instanceof MisplacedError)) throw error;
    return { kind: "invalid", why: error.message };
  } finally {
    await writeFile(file, source);
  }
}

/** Returns the runs without any mutant, each selection of tests once; they must all pass. */
export function controlRuns(mutants: readonly Mutant[]): Tests[] {
  const whole = new Set(mutants.filter(({ only }) => only === undefined).flatMap(({ files }) => files));
  const runs = new Map<string, Tests>();
  if (whole.size > 0) runs.set("", { files: [...whole] });
  for (const { files, only } of mutants) {
    if (only !== undefined) runs.set(JSON.stringify([files, only]), { files, only });
  }
  return [...runs.values()];
}
