// npm run mutants [-- --help]: switches off every guard of the money path, one at a time, in a
// throw-away copy of the sources, and runs the tests that must notice. Fails unless every one of them is caught.
import process from "node:process";
import { readOptions } from "../tooling/options.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import { copySources } from "./copies.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { lineOf, markdownOf, summaryOf, type Tried } from "./table.ts";
import { controlRuns, runTests, tryMutant } from "./try-mutant.ts";

/** Mutants at once: each has a database and a process of its own. */
const WORKERS = 2;

const USAGE = `npm run mutants [-- OPTIONS] [NAME …]

Switches off every guard of the money path, one at a time, in a throw-away copy of the sources, and runs the tests that must notice.

  --only NAME   this guard alone, as a bare NAME does; may be repeated
  --list        names the guards
  --json        tells everything as JSON
  --markdown    tells everything as a table for the documentation

Exit code: 0 every one was caught, 1 not so, 2 for options that mean nothing; a signal ends it with 128 and the signal's number.`;

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
    process.stderr.write(`There is no mutant ${unknown.join(", ")}; --list names them all\n`);
    process.exit(2);
  }
  return names.length === 0 ? MUTANTS : MUTANTS.filter(({ name }) => names.includes(name));
}

/** @returns whether every mutant was caught */
async function tryAll(mutants: readonly Mutant[]): Promise<boolean> {
  const progress = values.json || values.markdown ? process.stderr : process.stdout;
  const copies = await copySources(WORKERS);
  try {
    progress.write("control: the tests with every guard in its place\n");
    const red: string[] = [];
    await share(controlRuns(mutants), async (folder, run) => {
      const verdict = await runTests(folder, run, stop.signal);
      if (verdict.kind !== "survived") red.push(JSON.stringify({ ...run, ...verdict }));
    });
    if (red.length > 0) {
      process.stderr.write(
        `These tests are red as it is, so that no mutant can be judged by them:\n${red.join("\n")}\n`,
      );
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
    if (values.markdown) process.stdout.write(markdownOf(tried));
    progress.write(`\n${summaryOf(tried)}\n`);
    return missed.length === 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    return false;
  } finally {
    await copies.remove();
  }

  /** Does the work in all copies at once, each item in one of them. */
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
    // Only when nothing runs in the copies any more: they are deleted next.
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  }
}
