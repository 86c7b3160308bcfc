// npm run check [-- part …]: every static check of the sources.
import process from "node:process";

import { generateTestCode } from "./httpjson/generate.ts";
import { PARTS } from "./tooling/parts.ts";
import { killDescendants } from "./tooling/process-tree.ts";
import { runParts } from "./tooling/run-parts.ts";
import { stopOnSignals } from "./tooling/signals.ts";

const wanted = process.argv.slice(2);
const names = PARTS.map((part) => part.name);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no part ${unknown.join(", ")}. The parts are: ${names.join(" ")}\n`);
  process.exit(2);
}
const stop = stopOnSignals();
const parts = wanted.length === 0 ? PARTS : PARTS.filter((part) => wanted.includes(part.name));
// Types, lint and knip read it.
await generateTestCode();
const { failed } = await runParts(parts, process.stdout, stop.signal);
killDescendants();
process.exit(stop.exitCode() ?? (failed === 0 ? 0 : 1));
