import process from "node:process";
import { readOptions } from "../tooling/options.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import { copySources } from "./copies.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { controlRuns, runTests, tryMutant } from "./try-mutant.ts";
import type { Verdict } from "./verdict.ts";

/** Mutants at once; each has its own database and process. */
const WORKERS = 2;

const USAGE = `npm run mutants [-- OPTIONS] [NAME …]

Disables each guard, or those named, in a copy of the sources and runs the tests that must fail.

  --list        list the guards

Exit code: 0 all caught, 1 some not caught, 2 invalid options, 128 plus the signal number after a signal.`;

const { values, positionals } = readOptions(
  USAGE,
  { options: { list: { type: "boolean", default: false } }, allowPositionals: true },
  (parsed) => parsed,
);
const stop = stopOnSignals();
const wanted = chosen(positionals);
if (values.list) {
  process.stdout.write(wanted.map(({ name, guard }) => `${name.padEnd(32)} ${guard}\n`).join(""));
} else {
  process.exitCode = (await tryAll(wanted)) ? 0 : (stop.exitCode() ?? 1);
}

function chosen(names: readonly string[]): readonly Mutant[] {
  const unknown = names.filter((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown mutant: ${unknown.join(", ")}. List all with --list\n`);
    process.exit(2);
  }
  return names.length === 0 ? MUTANTS : MUTANTS.filter(({ name }) => names.includes(name));
}

/** Returns true if every mutant was caught. */
async function tryAll(mutants: readonly Mutant[]): Promise<boolean> {
  const copies = await copySources(WORKERS);
  try {
    process.stdout.write("control run: tests without mutants\n");
    const red: string[] = [];
    await share(controlRuns(mutants), async (folder, run) => {
      const verdict = await runTests(folder, run, stop.signal);
      if (verdict.kind !== "survived") red.push(JSON.stringify({ ...run, ...verdict }));
    });
    if (red.length > 0) {
      process.stderr.write(`These tests fail without any mutant; fix them first:\n${red.join("\n")}\n`);
      return false;
    }
    const missed: string[] = [];
    await share(mutants, async (folder, mutant) => {
      const start = performance.now();
      const verdict = await tryMutant(folder, mutant, stop.signal);
      const line = lineOf(mutant.name, verdict, (performance.now() - start) / 1000);
      process.stdout.write(line);
      if (verdict.kind !== "caught") missed.push(line);
    });
    if (missed.length > 0) process.stdout.write(`\nnot caught:\n${missed.join("")}`);
    process.stdout.write(`\n${mutants.length - missed.length} of ${mutants.length} caught\n`);
    return missed.length === 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    return false;
  } finally {
    await copies.remove();
  }

  /** Runs the work in all copies concurrently, each item in one copy. */
  async function share<Item>(
    items: readonly Item[],
    work: (folder: string, item: Item) => Promise<void>,
  ): Promise<void> {
    const waiting = [...items];
    const ended = await Promise.allSettled(
      copies.folders.map(async (folder) => {
        for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(folder, item);
      }),
    );
    // Wait for all copies before they are deleted.
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  }
}

function lineOf(name: string, verdict: Verdict, seconds: number): string {
  const kind = (verdict.kind === "caught" ? "caught" : verdict.kind.toUpperCase()).padEnd(8);
  return `${kind} ${name.padEnd(32)} ${seconds.toFixed(1).padStart(5)} s  ${witness(verdict)}\n`;
}

function witness(verdict: Verdict): string {
  if (verdict.kind === "survived") return "no test noticed";
  if (verdict.kind === "invalid") return verdict.why;
  const [first = "", ...others] = verdict.by;
  return others.length === 0 ? first : `${first} (and ${others.length} more)`;
}
