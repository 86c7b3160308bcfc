import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { vi } from "vitest";
import { z } from "zod";
import { runCommandLine } from "../../src/cli/command-line.ts";

const record = z.record(z.string(), z.unknown());

/** How a command ended; `rows`: the JSON lines of its output. */
interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
  readonly rows: readonly Record<string, unknown>[];
}

/** Runs a command as a process with only these settings. */
export async function runToolgate(
  settings: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Ended> {
  const child = spawn(process.execPath, ["src/main.mjs", ...args], {
    env: environment(settings),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code] = await once(child, "close");
  return { code, stdout, stderr, rows: rowsOf(stdout) };
}

let here: readonly string[] | undefined;

/**
 * Runs a command in this process with only these settings: starting a process takes most of a command's time.
 * One command at a time. Its log is not part of `stderr`.
 */
export async function runToolgateHere(
  settings: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Ended> {
  if (here) throw new Error(`"${here.join(" ")}" still runs here: start "${args.join(" ")}" after it`);
  here = args;
  const written = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => {
      written[stream] += String(text);
      return true;
    }),
  );
  const env = { ...process.env };
  const { exitCode } = process;
  setEnvironment(environment(settings));
  process.exitCode = undefined;
  try {
    await runCommandLine(args);
    return { code: process.exitCode ?? 0, ...written, rows: rowsOf(written.stdout) };
  } finally {
    setEnvironment(env);
    process.exitCode = exitCode;
    for (const spy of spies) spy.mockRestore();
    here = undefined;
  }
}

/** Changes the environment in place: those who hold the object must not go on with an old one. */
function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
}

function environment(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], DATA_DIR: "/nonexistent", ...settings };
}

function rowsOf(stdout: string): Record<string, unknown>[] {
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => record.parse(JSON.parse(line)));
}
