import os from "node:os";
import path from "node:path";
import process from "node:process";
import { readOptions, UsageError, wholeNumber } from "../tooling/options.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import type { Part } from "./bench.ts";
import { PARTS } from "./parts.ts";
import { isMet, table, type Line } from "./report.ts";
import { runParts } from "./run.ts";
import { LONG, SHORT } from "./scale.ts";

// Measures the gateway against bare peers on the same machine in the same minutes; docs/performance.md tells what and why.
// The parts are in parts.ts, their sizes in scale.ts.

const USAGE = `npm run bench [-- options]

  --only ${PARTS.map(({ name }) => name).join(",")}
                 these parts alone
  --rounds N     rounds of a comparison (${LONG.plan.rounds})
  --short        seconds; shows that the benchmark works, its figures mean nothing
  --json         one JSON object a line
  --profile DIR  CPU profiles of the gateway into DIR/<part>/
  --help`;

const OPTIONS = {
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
    json: { type: "boolean", default: false },
    profile: { type: "string" },
  },
} as const;

const options = readOptions(USAGE, OPTIONS, ({ values }) => {
  const form = values.short ? SHORT : LONG;
  const rounds = values.rounds === undefined ? form.plan.rounds : wholeNumber("rounds", values.rounds, 1);
  return {
    parts: chosenParts(values.only),
    form: { ...form, plan: { ...form.plan, rounds } },
    json: values.json,
    profile: values.profile,
  };
});

const stop = stopOnSignals();
const lines: Line[] = [];
const failed: string[] = [];
const { profile } = options;
await runParts(options.parts, {
  form: options.form,
  signal: stop.signal,
  ...(profile !== undefined && { profileFolder: (part: Part) => path.join(profile, part.name) }),
  async ended(outcome) {
    if ("lines" in outcome) lines.push(...outcome.lines);
    else {
      failed.push(outcome.part.name);
      process.stderr.write(`${outcome.part.name} failed: ${String(outcome.error)}\n`);
    }
  },
});
if (options.json) for (const line of lines) process.stdout.write(`${JSON.stringify({ ...line, met: isMet(line) })}\n`);
else process.stdout.write(`${machine()}\n\n${table(lines)}\n`);
process.exit(stop.exitCode() ?? (failed.length > 0 ? 1 : 0));

function chosenParts(only: string | undefined): readonly Part[] {
  if (only === undefined) return PARTS;
  return only.split(",").map((name) => {
    const part = PARTS.find((each) => each.name === name);
    if (part) return part;
    throw new UsageError(`there is no part ${name}; there are ${PARTS.map((each) => each.name).join(", ")}`);
  });
}

function machine(): string {
  const cpus = os.cpus();
  return `Node ${process.version}, ${os.type()} ${os.arch()}, ${cpus.length} x ${cpus[0]?.model}, ${(os.totalmem() / 2 ** 30).toFixed(0)} GiB`;
}
