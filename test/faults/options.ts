import { readOptions, UsageError, wholeNumber } from "../tooling/options.ts";
import { MUTANT_NAMES } from "./mutants.ts";
import { PROFILES, type Profile } from "./profiles.ts";

const USAGE = `npm run faults [-- OPTIONS]

Kills, stalls and cuts off three instances on one ledger while customers buy; every guarantee must hold.
The same seed makes the same plan of faults and the same customers; their timing differs between runs.

  --seed N         seed of the faults and the customers (default: random)
  --duration S     seconds; each profile runs, even if that takes longer (default: 60; no limit with --calls)
  --calls N        ends after N scenarios
  --profile NAME   all (the default), ${PROFILES.map(({ name }) => name).join(", ")}
  --phase S        maximum seconds between two quiet points (default: 20)
  --customers N    concurrent customers (default: 40)
  --patience S     maximum seconds until a call is decided, and until an instance is up again (default: 120);
                   more on a machine that does other work
  --mutant NAME    breaks a guarantee of the ledger, which must be found: ${MUTANT_NAMES.join(", ")}
  --json           prints everything as JSON
  --quiet          prints no progress

Exit code: 0 without a violation, 1 for a violation or a failed run, 2 for invalid options. A signal ends the
run at once with 128 and the signal's number; unfinished checks are not reported.`;

/** Options of a run. */
export interface Options {
  readonly seed: number;
  readonly durationMs: number;
  /** Maximum scenarios. */
  readonly calls: number;
  /** The command line. */
  readonly profile: string;
  readonly profiles: readonly Profile[];
  readonly phaseMs: number;
  readonly customers: number;
  readonly patienceMs: number;
  readonly mutant: string | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Parses the command line; ends the process when it is invalid. */
export function faultOptions(): Options {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = {
    ...{ seed: text, duration: text, calls: text, mutant: text, json: flag, quiet: flag },
    profile: { ...text, default: "all" },
    phase: { ...text, default: "20" },
    customers: { ...text, default: "40" },
    patience: { ...text, default: "120" },
  } as const;
  return readOptions(USAGE, { options }, ({ values }) => {
    const { seed, duration, calls, profile, phase, customers, patience, mutant, json, quiet } = values;
    const profiles = profilesOf(profile);
    if (mutant !== undefined && !MUTANT_NAMES.includes(mutant))
      throw new UsageError(`there is no mutant ${mutant}; there are ${MUTANT_NAMES.join(", ")}`);
    const usual = calls === undefined ? 60 : Number.POSITIVE_INFINITY;
    const durationMs = 1_000 * (duration === undefined ? usual : wholeNumber("duration", duration, 0));
    return {
      seed: seed === undefined ? Date.now() % 1_000_000 : wholeNumber("seed", seed, 0),
      durationMs,
      calls: calls === undefined ? Number.POSITIVE_INFINITY : wholeNumber("calls", calls, 1),
      ...{ profile, profiles, mutant, json, quiet },
      phaseMs: Math.min(wholeNumber("phase", phase, 1) * 1_000, durationMs / profiles.length),
      customers: wholeNumber("customers", customers, 1),
      patienceMs: wholeNumber("patience", patience, 1) * 1_000,
    };
  });
}

function profilesOf(name: string): readonly Profile[] {
  if (name === "all") return PROFILES;
  const profiles = PROFILES.filter((one) => one.name === name);
  if (profiles.length > 0) return profiles;
  throw new UsageError(
    `there is no profile ${name}; there are all, ${PROFILES.map((profile) => profile.name).join(", ")}`,
  );
}
