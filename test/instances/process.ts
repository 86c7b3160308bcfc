import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { createInterface } from "node:readline";
import { record } from "../support/record.ts";
import { ROOT } from "../tooling/command.ts";

const MAIN = path.join(ROOT, "src/main.mjs");

/** Maximum starts of an instance whose start checks timed out. */
const MOST_STARTS = 10;

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

/** Runs a command to its end. */
export async function run(args: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  const child = start(MAIN, args, settings);
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("the command's output is piped");
  const [out, err, [exitCode]] = await Promise.all([text(stdout), text(stderr), once(child, "exit")]);
  record(err);
  return { exitCode: typeof exitCode === "number" ? exitCode : null, stdout: out, stderr: err };
}

/** The processes started by one test file. */
export class Instances {
  readonly #children = new Set<ChildProcess>();

  constructor() {
    // No process outlives the tests.
    process.once("exit", () => {
      for (const child of this.#children) child.kill("SIGKILL");
    });
  }

  /**
   * Starts `serve` and waits until its servers listen; repeats when start checks time out on a busy machine.
   * @throws Error with its log when it ends early
   */
  async serve(settings: Record<string, string>, { cwd = ROOT } = {}): Promise<Instance> {
    // A folder of its own may hold a .env, which the environment precedes.
    const level = cwd === ROOT ? { LOG_LEVEL: "trace" } : {};
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#serve(start(MAIN, ["serve", "--json"], { ...level, ...settings }, { cwd }));
      } catch (error) {
        const tooBusy = /no answer within|connection timeout/.test(String(error));
        if (!tooBusy || attempt === MOST_STARTS) throw error;
      }
    }
  }

  /** Like {@link serve}, but as `npm run toolgate` does: under the bootstrap, in a process group. */
  async serveInGroup(settings: Record<string, string>): Promise<Instance> {
    const traced = { LOG_LEVEL: "trace", ...settings };
    return this.#serve(start("src/bootstrap.mjs", ["serve", "--json"], traced, { detached: true }));
  }

  async #serve(child: ChildProcess): Promise<Instance> {
    this.#children.add(child);
    let log = "";
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (log += chunk));
    child.once("close", () => record(log));
    const ended = new Promise<number | null>((resolve) => {
      child.once("exit", (code) => {
        this.#children.delete(child);
        resolve(code);
      });
    });
    if (!child.stdout) throw new Error("the output is piped");
    const ready = once(createInterface(child.stdout), "line").then(([line]) => addressesIn(String(line)));
    const addresses = await Promise.race([ready, ended.then(() => undefined)]);
    if (addresses === undefined) throw new Error(`serve ended before it was ready: ${log}`);
    return {
      ...addresses,
      pid: child.pid ?? Number.NaN,
      ended,
      log: () => log,
      signal: (name) => void child.kill(name),
      signalGroup: (name) => void (child.pid !== undefined && process.kill(-child.pid, name)),
    };
  }

  /** Kills all remaining processes, including stopped ones. */
  async close(): Promise<void> {
    await Promise.all(
      Array.from(this.#children, async (child) => {
        const exit = once(child, "exit");
        child.kill("SIGKILL");
        await exit;
      }),
    );
  }
}

function addressesIn(line: string): Pick<Instance, "baseUrl" | "metricsAddress"> {
  const ready = JSON.parse(line) as { base_url?: string; metrics_address?: string };
  if (ready.base_url === undefined) throw new Error(`serve said something else: ${line}`);
  return { baseUrl: ready.base_url, metricsAddress: ready.metrics_address };
}
