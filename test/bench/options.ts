import { readOptions, UsageError, wholeNumber } from "../tooling/options.ts";
import type { Part } from "./bench.ts";
import { commitOf } from "./commit.ts";
import { machine } from "./machine.ts";
import { PARTS } from "./parts.ts";
import type { Circumstances } from "./results.ts";
import { LONG, QUICK, SHORT, type Form } from "./scale.ts";
import { HAS_WRK } from "./wrk.ts";

const USAGE = `npm run bench [-- options]: compares the gateway with minimal peers.
docs/explanation/performance.md explains the measurements.

  --only PART,…  runs only these parts: ${PARTS.map(({ name }) => name).join(", ")}
  --rounds N     rounds of every comparison (${LONG.plan.rounds})
  --write        saves each part's results in docs/explanation/performance.json and regenerates the tables
                 and plots of docs/explanation/performance.md; other parts keep their results and dates
  --profile DIR  profiles the gateway's CPU time in ${profiledParts().join(", ")}, or the parts of --only, and
                 writes the CPU profiles to DIR (for Chrome or VS Code). --write saves the shares only:
                 the profiler slows calls
  --json         one JSON object a line
  --millions N   adds a ledger of N million transfers to growth: 1.5 GB of disk and 2 minutes a million
  --verbose      prints the time of each part on standard error
  --quick        rounds of a second: a quarter of an hour for ${quickParts().join(", ")}
  --short        takes seconds and shows that the benchmark works; its figures mean nothing
  --help         prints this help`;

const CONFIG = {
  options: {
    only: { type: "string" },
    rounds: { type: "string" },
    write: { type: "boolean", default: false },
    profile: { type: "string" },
    json: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    millions: { type: "string" },
  },
} as const;

/** How the benchmark was started. */
export interface BenchOptions {
  readonly parts: readonly Part[];
  readonly form: Form;
  readonly json: boolean;
  readonly write: boolean;
  /** Whether to print the time of each part. */
  readonly verbose: boolean;
  /** The folder for CPU profiles. */
  readonly profile: string | undefined;
  readonly circumstances: Circumstances;
}

/** Reads the options; `--help` and invalid options end the process. */
export function benchOptions(): BenchOptions {
  return readOptions(
    USAGE,
    CONFIG,
    ({ values: { only, rounds, write, profile, json, verbose, quick, short, millions } }) => {
      if (short && write)
        throw new UsageError("--short produces no results to save; omit --short or --write");
      const usual = short ? SHORT : quick ? QUICK : LONG;
      const form = millions === undefined ? usual : enlarged(usual, wholeNumber("millions", millions, 1));
      const plan =
        rounds === undefined ? form.plan : { ...form.plan, rounds: wholeNumber("rounds", rounds, 1) };
      const chosen =
        only ??
        (profile === undefined ? (quick ? quickParts().join(",") : undefined) : profiledParts().join(","));
      const given = [
        ...(only === undefined ? [] : [`--only ${only}`]),
        ...(rounds === undefined ? [] : [`--rounds ${rounds}`]),
        ...(quick ? ["--quick"] : []),
        ...(millions === undefined ? [] : [`--millions ${millions}`]),
        ...(profile === undefined ? [] : ["--profile DIR"]),
      ];
      return {
        ...{ parts: chosenParts(chosen), form: { ...form, plan }, json, write, verbose, profile },
        circumstances: {
          date: new Date().toISOString().slice(0, 10),
          command: ["npm run bench", ...(given.length > 0 ? ["--", ...given] : [])].join(" "),
          machine: `${machine()}, load by ${HAS_WRK ? "wrk" : "Node"}`,
          commit: commitOf(),
        },
      };
    },
  );
}

function enlarged(form: Form, millions: number): Form {
  return { ...form, scale: { ...form.scale, ledgers: [...form.scale.ledgers, millions * 1_000_000] } };
}

function profiledParts(): string[] {
  return PARTS.filter(({ loadsSharedGateway }) => loadsSharedGateway).map(({ name }) => name);
}

function quickParts(): string[] {
  return PARTS.filter(({ quick }) => quick).map(({ name }) => name);
}

function chosenParts(only: string | undefined): readonly Part[] {
  if (only === undefined) return PARTS;
  return only.split(",").map((name) => {
    const part = PARTS.find((each) => each.name === name);
    if (part) return part;
    throw new UsageError(`unknown part ${name}; choose from ${PARTS.map((each) => each.name).join(", ")}`);
  });
}
