import { readOptions, UsageError, wholeNumber } from "../tooling/options.ts";

const USAGE = `npm run soak [-- options]

  --minutes N   how long the load lasts (60)
  --short       seconds; shows that the soak works
  --share N     load, in hundredths of what was reached at full load (70)
  --json        the figures as one JSON object
  --write       keeps the figures in docs/explanation/performance.json
  --help

Exit code 0: no growth, nothing left open, no unexpected answer, and a correct ledger.`;

const OPTIONS = {
  options: {
    minutes: { type: "string", default: "60" },
    short: { type: "boolean", default: false },
    share: { type: "string", default: "70" },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
} as const;

/** Options of a soak test. */
export interface SoakOptions {
  /** Duration of the full load measurement, ms. */
  readonly calibrationMs: number;
  readonly durationMs: number;
  /** Interval of samples, ms. */
  readonly everyMs: number;
  readonly accounts: number;
  /** Whether the database is in memory. */
  readonly inMemory: boolean;
  /** Share of full load, 0 to 1. */
  readonly share: number;
  readonly json: boolean;
  readonly write: boolean;
}

/** Parses the command line. */
export function soakOptions(): SoakOptions {
  return readOptions(USAGE, OPTIONS, ({ values: { minutes, short, share, json, write } }) => {
    const hundredths = wholeNumber("share", share, 1);
    if (hundredths > 100) throw new UsageError("--share is at most 100");
    const common = { share: hundredths / 100, json, write, inMemory: short };
    if (short) return { ...common, calibrationMs: 500, durationMs: 2_000, everyMs: 250, accounts: 20 };
    const durationMs = wholeNumber("minutes", minutes, 1) * 60_000;
    // The line is fitted to half of the samples; five minutes must suffice.
    return {
      ...common,
      calibrationMs: 10_000,
      durationMs,
      everyMs: Math.min(60_000, durationMs / 20),
      accounts: 500,
    };
  });
}
