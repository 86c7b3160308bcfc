import path from "node:path";
import process from "node:process";
import { readOptions, UsageError } from "../tooling/options.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import { Bench, type Part } from "./bench.ts";
import { commitOf } from "./commit.ts";
import { countStolen, machine } from "./machine.ts";
import { FULL, QUICK } from "./measure.ts";
import { PARTS } from "./parts/index.ts";
import { tableOf, type Group } from "./report.ts";
import { saveResult } from "./page.ts";
import { startWorld } from "./world.ts";

const NAMES = PARTS.map(({ name }) => name);
const USAGE = `npm run bench [-- options]: compares the gateway with minimal peers.
docs/explanation/performance.md shows the results.

  --only PART,…  runs only these parts: ${NAMES.join(", ")}
  --write        saves the results in docs/explanation/performance.json and in the table of performance.md;
                 other parts keep theirs
  --profile DIR  writes CPU profiles of the gateways to DIR, for Chrome or VS Code; they slow calls
  --quick        takes seconds a part and shows that it works; its figures mean nothing
  --help         prints this help`;

const CONFIG = {
  options: {
    only: { type: "string" },
    write: { type: "boolean", default: false },
    profile: { type: "string" },
    quick: { type: "boolean", default: false },
  },
} as const;

const { parts, plan, write, profile } = readOptions(USAGE, CONFIG, ({ values }) => {
  if (values.write && (values.quick || values.profile !== undefined))
    throw new UsageError("--write saves neither the figures of --quick nor those of --profile");
  const chosen = values.only?.split(",") ?? NAMES;
  const unknown = chosen.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new UsageError(`unknown part ${unknown}; choose from ${NAMES.join(", ")}`);
  return {
    ...values,
    parts: PARTS.filter(({ name }) => chosen.includes(name)),
    plan: values.quick ? QUICK : FULL,
  };
});
const stop = stopOnSignals();
const groups: Group[] = [];
let failed = 0;
const world = await startWorld(plan.quick);
try {
  for (const part of parts) if (!stop.signal.aborted) await run(part);
} finally {
  await world.close();
}
if (groups.length > 0) process.stdout.write(`${machine()}\n\n${tableOf(groups)}\n`);
process.exit(stop.exitCode() ?? (failed > 0 ? 1 : 0));

/** Runs a part. Reports a failed one, so that the others go on. */
async function run(part: Part): Promise<void> {
  const { name, title } = part;
  process.stderr.write(`${title}\n`);
  const bench = new Bench(world, plan, stop.signal, profile && path.join(profile, name));
  try {
    const stolen = await countStolen();
    const lines = await part.run(bench);
    groups.push({ ...part, lines });
    if (!write) return;
    const date = new Date().toISOString().slice(0, 10);
    await saveResult(name, { date, machine: machine(), commit: commitOf(), stolen: await stolen?.(), lines });
  } catch (error) {
    if (stop.signal.aborted) return;
    failed++;
    process.stderr.write(`${name} failed: ${error instanceof Error ? error.stack : String(error)}\n`);
  } finally {
    await bench.close();
  }
}
