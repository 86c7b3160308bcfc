import { readOptions, UsageError, wholeNumber } from "../tooling/options.ts";
import type { Part } from "./bench.ts";
import { commitOf } from "./commit.ts";
import { machine } from "./machine.ts";
import { PARTS } from "./parts.ts";
import type { Circumstances } from "./results.ts";
import { LONG, SHORT, type Form } from "./scale.ts";

const USAGE = `npm run bench [-- options]: measures the gateway against bare peers; docs/explanation/performance.md tells what and why

  --only PART,…  these parts alone, of ${PARTS.map(({ name }) => name).join(", ")}
  --rounds N     rounds of every comparison (${LONG.plan.rounds})
  --write        keeps what was measured in docs/explanation/performance.json, and makes the tables and plots of docs/explanation/performance.md of it,
                 after each part; what was measured earlier of other parts stays with its date
  --profile DIR  tells where the gateway's CPU time goes, of ${doors().join(", ")} unless --only names others; the CPU profiles go
                 into DIR (for Chrome or VS Code), and with --write the shares are kept. The profiler slows calls: their figures are not kept
  --json         one JSON object a line
  --huge         growth with a ledger of ten million transfers too: 15 GB of disk, and a quarter of an hour
  --verbose      tells on standard error how long each part took
  --short        seconds; shows that the benchmark works, its figures mean nothing
  --help         this`;

/** The transfers of a ledger that is larger than fits into every run. */
const HUGE = 10_000_000;

const CONFIG = {
  options: {
    only: { type: "string" },
    rounds: { type: "string" },
    write: { type: "boolean", default: false },
    profile: { type: "string" },
    json: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    huge: { type: "boolean", default: false },
  },
} as const;

/** How the benchmark was started. */
export interface BenchOptions {
  readonly parts: readonly Part[];
  readonly form: Form;
  readonly json: boolean;
  readonly write: boolean;
  /** Whether the time of each part is told. */
  readonly verbose: boolean;
  /** The folder for CPU profiles. */
  readonly profile: string | undefined;
  readonly circumstances: Circumstances;
}

/** Reads the options; `--help` and options that mean nothing end the process. */
export function benchOptions(): BenchOptions {
  return readOptions(
    USAGE,
    CONFIG,
    ({ values: { only, rounds, write, profile, json, verbose, short, huge } }) => {
      if (short && write)
        throw new UsageError("--short measures nothing that could be kept; leave it out, or --write");
      const usual = short ? SHORT : LONG;
      const form = huge ? enlarged(usual) : usual;
      const plan =
        rounds === undefined ? form.plan : { ...form.plan, rounds: wholeNumber("rounds", rounds, 1) };
      const chosen = only ?? (profile === undefined ? undefined : doors().join(","));
      const told = [
        ...(only === undefined ? [] : [`--only ${only}`]),
        ...(rounds === undefined ? [] : [`--rounds ${rounds}`]),
        ...(huge ? ["--huge"] : []),
        ...(profile === undefined ? [] : ["--profile DIR"]),
      ];
      return {
        ...{ parts: chosenParts(chosen), form: { ...form, plan }, json, write, verbose, profile },
        circumstances: {
          date: new Date().toISOString().slice(0, 10),
          command: ["npm run bench", ...(told.length > 0 ? ["--", ...told] : [])].join(" "),
          machine: machine(),
          commit: commitOf(),
        },
      };
    },
  );
}

function enlarged(form: Form): Form {
  return { ...form, scale: { ...form.scale, ledgers: [...form.scale.ledgers, HUGE] } };
}

function doors(): string[] {
  return PARTS.filter(({ door }) => door).map(({ name }) => name);
}

function chosenParts(only: string | undefined): readonly Part[] {
  if (only === undefined) return PARTS;
  return only.split(",").map((name) => {
    const part = PARTS.find((each) => each.name === name);
    if (part) return part;
    throw new UsageError(`there is no part ${name}; there are ${PARTS.map((each) => each.name).join(", ")}`);
  });
}
