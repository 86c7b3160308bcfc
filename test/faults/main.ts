import { once } from "node:events";
import process from "node:process";
import { stopOnSignals } from "../tooling/signals.ts";
import { Dice } from "./seeded-random.ts";
import type { Lab } from "./lab.ts";
import { applyMutant } from "./mutants.ts";
import { faultOptions } from "./options.ts";
import { json, jsonReport, progressLine, report } from "./report.ts";
import { Tally } from "./tally.ts";

// npm run faults [-- --help]
// Kills, stalls and disconnects three instances on one ledger while customers buy. No guarantee may break.

const options = faultOptions();
const { seed, profiles, durationMs, phaseMs, mutant, calls, customers, patienceMs } = options;
const stop = stopOnSignals();
const { signal } = stop;
const tally = new Tally();
// A signal stops everything, including waits.
signal.addEventListener("abort", () => tally.close());
let began = performance.now();
const seconds = () => (performance.now() - began) / 1_000;

try {
  // Invalid options end the process before the gateway loads.
  const [{ startGround }, labs] = await Promise.all([import("./environment.ts"), import("./lab.ts")]);
  const ground = await startGround(signal);
  try {
    if (mutant !== undefined) await applyMutant(ground, mutant);
    const lab = await labs.Lab.open(ground, tally, new Dice(`seed ${seed}`), {
      calls,
      customers,
      patienceMs,
    });
    try {
      await Promise.race([play(lab), lab.stuck(), stopped()]);
    } finally {
      await lab.close();
    }
  } finally {
    await ground.close();
  }
} catch (error) {
  if (!signal.aborted) throw error;
}
const run = { seed, profile: options.profile, seconds: seconds(), stopped: signal.aborted };
process.stdout.write(`${options.json ? json(jsonReport(tally, run)) : report(tally, run)}\n`);
process.exit(stop.exitCode() ?? (tally.violations.length === 0 ? 0 : 1));

async function play(lab: Lab): Promise<void> {
  await lab.everyDoor();
  began = performance.now();
  const progress = setInterval(() => {
    if (!options.quiet) process.stderr.write(`${progressLine(tally, seconds())}\n`);
  }, 3_000);
  try {
    // Runs every profile, even when time is short.
    const goesOn = (phase: number) => phase < profiles.length || seconds() * 1_000 < durationMs;
    for (let phase = 0; goesOn(phase) && !lab.done && !signal.aborted; phase++) {
      const profile = profiles[phase % profiles.length];
      if (profile) await lab.run(profile, phaseMs, signal);
    }
    if (tally.violations.length === 0) await lab.finish();
    await lab.explain();
  } finally {
    clearInterval(progress);
  }
}

/** Ends at the first signal. */
async function stopped(): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
