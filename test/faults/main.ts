import { parseArgs } from "node:util";
import process from "node:process";
import { stopOnSignals } from "../tooling/signals.ts";
import { Dice } from "./dice.ts";
import { startGround } from "./ground.ts";
import { Lab } from "./lab.ts";
import { applyMutant } from "./mutants.ts";
import { PROFILES, type Profile } from "./profiles.ts";
import { json, jsonReport, progressLine, report } from "./report.ts";
import { Tally } from "./tally.ts";

// npm run faults [-- --seed N] [--duration S] [--calls N] [--profile NAME] [--phase S] [--customers N] [--mutant NAME] [--json] [--quiet]
// Three instances on one ledger are killed, stalled and cut off while customers buy; nothing that was promised may break.
// The same seed makes the same plan of faults and the same customers; how they meet differs from run to run.

const { values: options } = parseArgs({
  options: {
    seed: { type: "string" },
    duration: { type: "string" },
    calls: { type: "string" },
    profile: { type: "string", default: "all" },
    phase: { type: "string", default: "20" },
    customers: { type: "string", default: "40" },
    mutant: { type: "string" },
    json: { type: "boolean", default: false },
    quiet: { type: "boolean", default: false },
  },
});
const seed = Number(options.seed ?? Date.now() % 1_000_000);
const calls = Number(options.calls ?? Number.POSITIVE_INFINITY);
const durationMs = Number(options.duration ?? (options.calls === undefined ? 60 : Number.POSITIVE_INFINITY)) * 1_000;
const profiles = chosen(options.profile);
const phaseMs = Math.min(Number(options.phase) * 1_000, durationMs / profiles.length);
const stop = stopOnSignals();
const tally = new Tally();
let began = performance.now();
const seconds = () => (performance.now() - began) / 1_000;

const ground = await startGround();
try {
  if (options.mutant !== undefined) await applyMutant(ground, options.mutant);
  const lab = await Lab.open(ground, tally, new Dice(`seed ${seed}`), { calls, customers: Number(options.customers) });
  began = performance.now();
  const progress = setInterval(() => {
    if (!options.quiet) process.stderr.write(`${progressLine(tally, seconds())}\n`);
  }, 3_000);
  try {
    // Every profile has its turn, also when the time is short.
    const goesOn = (phase: number) => phase < profiles.length || seconds() * 1_000 < durationMs;
    for (let phase = 0; goesOn(phase) && !lab.done && !stop.signal.aborted; phase++) {
      const profile = profiles[phase % profiles.length];
      if (profile) await lab.run(profile, phaseMs, stop.signal);
    }
    if (tally.violations.length === 0) await lab.finish();
    await lab.explain();
  } finally {
    clearInterval(progress);
    await lab.close();
  }
} finally {
  await ground.close();
}
const run = { seed, profile: options.profile, seconds: seconds() };
process.stdout.write(`${options.json ? json(jsonReport(tally, run)) : report(tally, run)}\n`);
process.exit(stop.exitCode() ?? (tally.violations.length === 0 ? 0 : 1));

function chosen(name: string): readonly Profile[] {
  if (name === "all") return PROFILES;
  const profile = PROFILES.find((one) => one.name === name);
  if (!profile)
    throw new Error(`there is no profile ${name}; there are all, ${PROFILES.map((one) => one.name).join(", ")}`);
  return [profile];
}
