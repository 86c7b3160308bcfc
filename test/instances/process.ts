import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { firstLine, stopChild } from "../support/child.ts";
import { record } from "../support/record.ts";
import { ROOT } from "../tooling/command.ts";

const MAIN = path.join(ROOT, "src/main.mjs");

/** Maximum starts of a process whose checks of its database or chain timed out on a busy machine. */
const MOST_STARTS = 10;
const TOO_BUSY = /no answer within|connection timeout/;

/** The outcome of a command. */
export interface Outcome {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** A `serve` process with real dependencies. */
export interface Instance {
  readonly baseUrl: string;
  /** host:port of its metrics; undefined unless METRICS_PORT is set. */
  readonly metricsAddress: string | undefined;
  readonly pid: number;
  /** Signals this process only. */
  signal(name: NodeJS.Signals): void;
  /** Signals its process group, like a terminal or supervisor. Only if served in a group. */
  signalGroup(name: NodeJS.Signals): void;
  /** Resolves at its end with the exit code (null: by a signal). */
  readonly ended: Promise<number | null>;
  /** Its log so far. */
  log(): string;
}

function start(
  program: string,
  args: readonly string[],
  settings: Record<string, string>,
  { detached = false, cwd = ROOT } = {},
): ChildProcess {
  // No environment setting of the test run reaches the process.
  const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...settings };
  return spawn(process.execPath, [program, ...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached,
  });
}

/** Runs a command to its end; repeats it when its checks time out on a busy machine. */
export async function run(args: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await runOnce(args, settings);
    if (attempt === MOST_STARTS || !TOO_BUSY.test(outcome.stdout + outcome.stderr)) return outcome;
  }
}

async function runOnce(args: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  const child = start(MAIN, args, settings);
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("the command's output is piped");
  const [out, err, [exitCode]] = await Promise.all([text(stdout), text(stderr), once(child, "exit")]);
  record(err);
  return { exitCode: typeof exitCode === "number" ? exitCode : null, stdout: out, stderr: err };
}

// No process outlives the tests.
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** The processes started by one test file. */
export class Instances {
  readonly #children = new Set<ChildProcess>();

  /**
   * Starts `serve` and waits until its servers listen; repeats like {@link run}.
   * @throws Error with its log when it ends early
   */
  async serve(
    settings: Record<string, string>,
    { cwd = ROOT, program = MAIN, args = [] as readonly string[] } = {},
  ): Promise<Instance> {
    // A folder of its own may hold a .env, which the environment precedes.
    const level = cwd === ROOT ? { LOG_LEVEL: "trace" } : {};
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#serve(
          start(program, ["serve", "--json", ...args], { ...level, ...settings }, { cwd }),
        );
      } catch (error) {
        if (attempt === MOST_STARTS || !TOO_BUSY.test(String(error))) throw error;
      }
    }
  }

  /** Like {@link serve}, but as `npm run toolgate` does: under the bootstrap, in a process group. */
  async serveInGroup(settings: Record<string, string>): Promise<Instance> {
    const traced = { LOG_LEVEL: "trace", ...settings };
    return this.#serve(start("src/bootstrap.mjs", ["serve", "--json"], traced, { detached: true }));
  }

  async #serve(child: ChildProcess): Promise<Instance> {
    for (const children of [running, this.#children]) children.add(child);
    let log = "";
    child.once("close", () => record(log));
    const ended = new Promise<number | null>((resolve) => {
      child.once("exit", (code) => {
        for (const children of [running, this.#children]) children.delete(child);
        resolve(code);
      });
    });
    return {
      ...addressesIn(await firstLine(child, (text) => (log += text))),
      pid: child.pid ?? Number.NaN,
      ended,
      log: () => log,
      signal: (name) => void child.kill(name),
      signalGroup: (name) => void (child.pid !== undefined && process.kill(-child.pid, name)),
    };
  }

  /** Kills all remaining processes, including stopped ones. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#children, (child) => stopChild(child, "SIGKILL")));
  }
}

function addressesIn(line: string): Pick<Instance, "baseUrl" | "metricsAddress"> {
  const ready = JSON.parse(line) as { base_url?: string; metrics_address?: string };
  if (ready.base_url === undefined) throw new Error(`serve said something else: ${line}`);
  return { baseUrl: ready.base_url, metricsAddress: ready.metrics_address };
}
