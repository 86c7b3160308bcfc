import process from "node:process";
import { readOptions, UsageError, wholeNumber } from "../tooling/options.ts";

/** A whole number from `least` (default: 1) to `most`; `short` is its default in the short form. */
interface NumberOption {
  readonly about: string;
  readonly usual: number;
  readonly short?: number;
  readonly least?: 0;
  readonly most?: number;
}

/** Some of the names, separated by commas; all by default. */
interface NamesOption {
  readonly about: string;
  readonly names: readonly string[];
  readonly short?: readonly string[];
}

interface Flag {
  readonly about: string;
}

type Option = NumberOption | NamesOption | Flag;

type Values<Options> = {
  readonly [Name in keyof Options]: Options[Name] extends { readonly usual: number }
    ? number
    : Options[Name] extends { readonly names: readonly (infer Known)[] }
      ? readonly Known[]
      : boolean;
};

/** Options of every lab. */
const COMMON = {
  seed: { about: "seed of what is random (default: another each time)", usual: NaN, least: 0 },
  short: { about: "as short and small as in the tests" },
  json: { about: "prints the report as JSON" },
  quiet: { about: "prints no progress" },
} as const;

/** Options that every lab has. */
export type CommonOptions = Values<typeof COMMON>;

const EXIT = `Exit code: 0 without a broken promise; 1 for one, a failed run or a missing package; 2 for
invalid options. A signal ends the run with 128 and its number; what was not finished is not judged.`;

/**
 * Parses the command line of a lab; `--help` and invalid options end the process.
 * @param about the npm script, and what it does
 */
export function labOptions<const Options extends Readonly<Record<string, Option>>>(
  about: string,
  own: Options,
): Values<Options> & CommonOptions {
  const all: Readonly<Record<string, Option>> = { ...own, ...COMMON };
  const entries = Object.entries(all);
  const lines = entries.map(([name, option]) => `  ${placeholder(name, option).padEnd(18)}${help(option)}`);
  const options = Object.fromEntries(
    entries.map(([name, option]) => [name, { type: isFlag(option) ? "boolean" : "string" } as const]),
  );
  const usage = `npm run ${about}\n\n${lines.join("\n")}\n\n${EXIT}`;
  return readOptions(usage, { options }, ({ values }) => {
    const short = values["short"] === true;
    const read = entries.map(([name, option]) => [name, valueOf(name, option, values[name], short)]);
    return Object.fromEntries(read) as Values<Options> & CommonOptions;
  });
}

/** Ends the process when Debian packages are missing. */
export function requirePackages(missing: readonly string[]): void {
  if (missing.length === 0) return;
  const names = missing.join(" ");
  process.stderr.write(
    `not installed: ${names}; as root: apt-get install --no-install-recommends ${names}\n`,
  );
  process.exit(1);
}

function isFlag(option: Option): boolean {
  return !("usual" in option) && !("names" in option);
}

function placeholder(name: string, option: Option): string {
  return isFlag(option) ? `--${name}` : `--${name} ${"names" in option ? "A,B" : "N"}`;
}

function help(option: Option): string {
  if ("names" in option) return `${option.about}: ${option.names.join(", ")} (default: all)`;
  if (!("usual" in option) || !Number.isFinite(option.usual)) return option.about;
  return `${option.about} (default: ${option.usual})`;
}

function valueOf(name: string, option: Option, given: unknown, short: boolean): unknown {
  if ("names" in option) {
    const usual = (short && option.short) || option.names;
    return typeof given === "string" ? given.split(",").map((one) => nameOf(name, option, one)) : usual;
  }
  if (!("usual" in option)) return given === true;
  if (typeof given === "string") return numberOf(name, option, given);
  if (short && option.short !== undefined) return option.short;
  return Number.isNaN(option.usual) ? Date.now() % 1_000_000 : option.usual;
}

function numberOf(name: string, { least, most }: NumberOption, given: string): number {
  const value = wholeNumber(name, given, least ?? 1);
  if (most !== undefined && value > most) throw new UsageError(`--${name} is at most ${most}`);
  return value;
}

function nameOf(name: string, { names }: NamesOption, given: string): string {
  if (names.includes(given)) return given;
  throw new UsageError(`--${name} is of ${names.join(", ")}, and not ${JSON.stringify(given)}`);
}
