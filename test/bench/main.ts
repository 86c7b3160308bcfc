import process from "node:process";
import { stopOnSignals } from "../tooling/signals.ts";
import type { Part } from "./bench.ts";
import { benchOptions } from "./options.ts";
import { stolenText, writePage } from "./page.ts";
import { takeProfile } from "./profile/take.ts";
import { profileText } from "./profile/text.ts";
import { isMet, type Line } from "./report.ts";
import { changeResults, checkedLines } from "./results.ts";
import { runParts, type Outcome } from "./run.ts";
import { SECTIONS } from "./sections.ts";
import { barTable, callTable } from "./tables.ts";

// Compares the gateway with minimal peers on the same machine. The parts are in parts.ts, their sizes in
// scale.ts.

/** Profile lines in the terminal. */
const PROFILE_LINES = 25;

const { parts, form, json, write, verbose, profile, circumstances } = benchOptions();
const stop = stopOnSignals();
let failed = 0;
if (!json) process.stdout.write(`${circumstances.machine}\n`);
await runParts(parts, {
  ...{ form, profile, signal: stop.signal },
  async ended(outcome) {
    if (verbose)
      process.stderr.write(
        `${outcome.part.name}: ${outcome.seconds.toFixed(1)} s${stolenText(outcome.stolen)}\n`,
      );
    try {
      await take(outcome);
    } catch (error) {
      failed++;
      process.stderr.write(
        `${outcome.part.name} failed: ${error instanceof Error ? error.stack : String(error)}\n`,
      );
    }
  },
});
process.exit(stop.exitCode() ?? (failed > 0 ? 1 : 0));

/** Prints and saves the outcome of a part. @throws its error */
async function take(outcome: Outcome): Promise<void> {
  if ("error" in outcome) throw outcome.error;
  const { part, stolen } = outcome;
  const lines = checkedLines(outcome.lines);
  const now = { ...circumstances, stolen };
  printLines(part, lines);
  if (profile === undefined) {
    if (write) await writePage(await changeResults({ parts: { [part.name]: { ...now, lines } } }), SECTIONS);
    return;
  }
  const summary = await takeProfile(profile, part.name);
  process.stdout.write(`\n${profileText(summary, PROFILE_LINES)}`);
  const { groups, functions } = summary;
  const kept = { ...now, groups: [...groups], functions: functions.slice(0, PROFILE_LINES) };
  if (write) await writePage(await changeResults({ profiles: { [part.name]: kept } }), SECTIONS);
}

function printLines(part: Part, lines: readonly Line[]): void {
  if (json) {
    for (const line of lines)
      process.stdout.write(`${JSON.stringify({ part: part.name, ...line, met: isMet(line) })}\n`);
    return;
  }
  const tables = [barTable(lines), callTable(lines)].filter((table) => table !== undefined);
  process.stdout.write(`\n${part.title} (${part.name})\n\n${tables.join("\n\n")}\n`);
}
