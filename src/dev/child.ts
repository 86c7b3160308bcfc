import { spawn } from "node:child_process";
import { getCompileCacheDir } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import process from "node:process";

/** A process of the development setup, which ends when this one does: it watches its standard input. */
export interface Child {
  /** The JSON line that it printed when it was ready. */
  ready: unknown;
  /** Ends it and waits until it has. */
  stop(): Promise<void>;
}

/**
 * Starts a program of this project in a process of its own, out of reach of the terminal's Ctrl-C, and waits
 * for its JSON line.
 */
export async function startChild(file: string, args: readonly string[]): Promise<Child> {
  // Inside it, Node has a folder per version.
  const cache = getCompileCacheDir();
  const child = spawn(process.execPath, [file, ...args], {
    ...(cache !== undefined && { env: { ...process.env, NODE_COMPILE_CACHE: path.dirname(cache) } }),
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", resolve);
    child.once("error", () => resolve(null));
  });
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    new Promise<string>((resolve) => lines.once("line", resolve)),
    exited.then((code) => Promise.reject(new Error(`${file} ended with ${code} before it was ready`))),
  ]);
  const ready: unknown = JSON.parse(line);
  return {
    ready,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}
