import process from "node:process";
import { readOptions } from "../tooling/options.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import { copySources } from "./copies.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANT_GROUPS, MUTANTS } from "./mutants.ts";
import { lineOf, markdownOf, summaryOf, type Tried } from "./table.ts";
import { controlRuns, runTests, tryMutant } from "./try-mutant.ts";

/** Mutants at once; each has its own database and process. */
const WORKERS = 2;

const USAGE = `npm run mutants [-- OPTIONS] [NAME …]

Disables each guard of the money path in a copy of the sources and runs the tests that must fail.

  --only NAME   try this guard only, like a bare NAME; may be repeated
  --list        list the guards
  --json        print the results as JSON
  --markdown    print the tables of docs/reference/guards.md

Exit code: 0 all caught, 1 some not caught, 2 invalid options, 128 plus the signal number after a signal.`;

const OPTIONS = {
  only: { type: "string", multiple: true },
  list: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  markdown: { type: "boolean", default: false },
} as const;
const { values, positionals } = readOptions(
  USAGE,
  { options: OPTIONS, allowPositionals: true },
  (parsed) => parsed,
);
const stop = stopOnSignals();
const wanted = chosen([...(values.only ?? []), ...positionals]);
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
  const progress = values.json || values.markdown ? process.stderr : process.stdout;
  const copies = await copySources(WORKERS);
  try {
    progress.write("control run: tests without mutants\n");
    const red: string[] = [];
    await share(controlRuns(mutants), async (folder, run) => {
      const verdict = await runTests(folder, run, stop.signal);
      if (verdict.kind !== "survived") red.push(JSON.stringify({ ...run, ...verdict }));
    });
    if (red.length > 0) {
      process.stderr.write(`These tests fail without any mutant; fix them first:\n${red.join("\n")}\n`);
      return false;
    }
    const tried: Tried[] = [];
    await share(mutants, async (folder, mutant) => {
      const start = performance.now();
      const verdict = await tryMutant(folder, mutant, stop.signal);
      const one = { mutant, verdict, seconds: (performance.now() - start) / 1000 };
      tried.push(one);
      progress.write(`${lineOf(one)}\n`);
    });
    tried.sort((one, other) => mutants.indexOf(one.mutant) - mutants.indexOf(other.mutant));
    const missed = tried.filter(({ verdict }) => verdict.kind !== "caught");
    if (missed.length > 0)
      progress.write(`\nnot caught:\n${missed.map((one) => `${lineOf(one)}\n`).join("")}`);
    if (values.json)
      process.stdout.write(`${JSON.stringify({ summary: summaryOf(tried), mutants: tried }, null, 2)}\n`);
    if (values.markdown) process.stdout.write(markdownOf(tried, MUTANT_GROUPS));
    progress.write(`\n${summaryOf(tried)}\n`);
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
