import { findPostgres, isExecutable } from "../support/programs.ts";
import { readOptions, wholeNumber } from "../tooling/options.ts";

const USAGE = `npm run restore-lab [-- OPTIONS]

Restores a database under load with pgBackRest, by the commands of docs/guides/backup.md: to a moment, and
after the loss of its disk. Needs Debian's pgbackrest and postgresql.

  --load S         seconds of load before and after the restored moment (default: 20)
  --customers N    concurrent customers (default: 20)
  --seed N         seed of the customers (default: random)
  --short          one restore to a moment, with few customers
  --json           prints the report as JSON
  --quiet          prints no progress

Exit code: 0 without a violation, 1 for a violation, a failed run or a missing package, 2 for invalid options.
A signal ends the run at once with 128 and the signal's number.`;

/** Options of a run. */
export interface Options {
  readonly seed: number;
  readonly loadMs: number;
  readonly customers: number;
  readonly short: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Returns the Debian packages that are missing. */
export function missingPackages(): string[] {
  const pgbackrest = isExecutable("/usr/bin/pgbackrest") ? [] : ["pgbackrest"];
  return findPostgres() === undefined ? [...pgbackrest, "postgresql"] : pgbackrest;
}

/** Parses the command line; ends the process when it is invalid. */
export function restoreOptions(): Options {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = { ...{ seed: text, load: text, customers: text }, short: flag, json: flag, quiet: flag };
  return readOptions(USAGE, { options }, ({ values }) => {
    const { short, seed, json, quiet } = values;
    const { load = short ? "2" : "20", customers = short ? "6" : "20" } = values;
    return {
      seed: seed === undefined ? Date.now() % 1_000_000 : wholeNumber("seed", seed, 0),
      loadMs: 1_000 * wholeNumber("load", load, 1),
      customers: wholeNumber("customers", customers, 1),
      ...{ short, json, quiet },
    };
  });
}
