import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** The checkout: the folder that holds package.json. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/**
 * The environment of every tool: the project's own programs first on the PATH, and colour only on a terminal.
 */
export function toolEnvironment(colour: boolean): NodeJS.ProcessEnv {
  const bin = path.join(ROOT, "node_modules", ".bin");
  const environment = { ...process.env, PATH: `${bin}${path.delimiter}${process.env["PATH"] ?? ""}` };
  if (colour) return environment;
  return { ...environment, NO_COLOR: "1", FORCE_COLOR: undefined };
}

/** How a tool ended; `output` holds both of its streams in the order of arrival. */
export interface Finished {
  readonly code: number;
  readonly output: string;
}

/** Working directory (default: the checkout), environment and abort signal of a tool. */
export interface CommandOptions {
  readonly cwd?: string;
  readonly signal?: AbortSignal | undefined;
  /** Overrides the tools' environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs one of the project's tools to its end. A tool that cannot be started or dies of a signal has failed:
 * code 1.
 */
export function command(
  name: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Finished> {
  const { cwd = ROOT, signal, env = {} } = options;
  return new Promise((resolve) => {
    const child = spawn(name, args, {
      cwd,
      env: { ...toolEnvironment(false), ...env },
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
      ...(signal && { signal }),
    });
    let output = "";
    const collect = (chunk: string): void => {
      output += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", collect);
    child.stderr.setEncoding("utf8").on("data", collect);
    child.on("error", (error) => {
      resolve({ code: 1, output: `${output}${name}: ${error.message}\n` });
    });
    child.on("close", (code, killedBy) => {
      resolve({ code: code ?? 1, output: killedBy ? `${output}${name}: ended by ${killedBy}\n` : output });
    });
  });
}
