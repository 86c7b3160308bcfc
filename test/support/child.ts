import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";

/** How long the streams may stay open after the exit, ms: a process that the child started can hold them. */
const STREAMS_MS = 1_000;

/** The exit code (null: by a signal) and the signal of a child. */
export type Exit = readonly [code: number | null, signal: NodeJS.Signals | null];

/**
 * Returns the first line that a child prints; call it right after the start.
 * @param onError receives what it writes to a piped stderr, then and later; default: shown
 * @throws Error with the exit code, the signal and stderr when the child does not start or ends before
 */
export function firstLine(
  child: ChildProcess,
  onError: (text: string) => void = (text) => process.stderr.write(text),
): Promise<string> {
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
    onError(text);
  });
  return new Promise((resolve, reject) => {
    if (child.stdout) createInterface({ input: child.stdout }).once("line", resolve);
    const end = () => reject(new Error(`${describeEnd(child)}\n${errors}`));
    child.once("error", reject);
    child.once("close", end);
    child.once("exit", () => setTimeout(end, STREAMS_MS).unref());
  });
}

/** Returns what is waited for. @throws Error with the exit code or signal when the child ends before */
export async function whileRuns<Fact>(child: ChildProcess, wait: PromiseLike<Fact>): Promise<Fact> {
  const end = exitOf(child).then(() => {
    throw new Error(describeEnd(child));
  });
  return Promise.race([wait, end]);
}

/** Resolves when a child has ended, also if it has already. @throws Error when it did not start */
export async function exitOf(child: ChildProcess): Promise<Exit> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return [child.exitCode, child.signalCode];
}

/** Ends a child if it was started and still runs, and waits for its end. */
export async function stopChild(
  child: ChildProcess | undefined,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<void> {
  if (child?.pid === undefined) return;
  child.kill(signal);
  await exitOf(child);
}

function describeEnd({ spawnargs, exitCode, signalCode }: ChildProcess): string {
  const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`;
  return `${spawnargs.join(" ")}: ended with ${how} before it was ready`;
}
