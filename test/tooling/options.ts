import process from "node:process";
import { parseArgs, type ParseArgsConfig } from "node:util";

/** An invalid option; the message is one line. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The options that every program has. */
const HELP = { help: { type: "boolean", short: "h", default: false } } as const;

/**
 * Parses the program's options. `--help` prints the usage; invalid options end the program with one line and
 * exit code 2.
 * @param read converts the options.
 * @throws UsageError
 */
export function readOptions<const Config extends ParseArgsConfig, Options>(
  usage: string,
  config: Config,
  read: (parsed: ReturnType<typeof parseArgs<Config>>) => Options,
): Options {
  const known = { ...config.options, ...HELP };
  try {
    const { help } = parseArgs({ ...config, options: known, strict: false }).values;
    if (help === true) {
      process.stdout.write(`${usage}\n`);
      process.exit(0);
    }
    return read(parseArgs<Config>(config));
  } catch (error) {
    const problem = problemOf(error, Object.keys(known));
    if (problem === undefined) throw error;
    process.stderr.write(`${problem}\n`);
    process.exit(2);
  }
}

/**
 * A number as an option holds it.
 * @throws UsageError unless it is whole, and `least` at least
 */
export function wholeNumber(option: string, text: string, least: 0 | 1): number {
  const value = Number(text);
  if (/^\d{1,7}$/.test(text) && value >= least) return value;
  throw new UsageError(
    `--${option} is a whole number from ${least} to 9999999, and not ${JSON.stringify(text)}`,
  );
}

/** Undefined: it is no fault of the options. */
function problemOf(error: unknown, names: readonly string[]): string | undefined {
  if (error instanceof UsageError) return error.message;
  if (!(error instanceof TypeError) || !("code" in error)) return undefined;
  if (!String(error.code).startsWith("ERR_PARSE_ARGS_")) return undefined;
  const [what = ""] = error.message.split(/\.\s|\n/);
  return `${what.replace(/\.$/, "")}; there are ${names.map((name) => `--${name}`).join(", ")}`;
}
