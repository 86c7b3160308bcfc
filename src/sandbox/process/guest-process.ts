import { spawn, type ChildProcessByStdio } from "node:child_process";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { LAUNCH_ENVIRONMENT, type LaunchLine } from "./launch-line.ts";

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Takes what a process writes. */
type Listener = (bytes: Buffer) => void;

/** A process in a group of its own, which ends as a whole. */
export class GuestProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Resolves when it has ended and everything that it wrote was read. */
  readonly closed: Promise<Exit>;
  #over = false;
  onStdout: Listener = () => {};
  onStderr: Listener = () => {};

  constructor([command, ...args]: LaunchLine) {
    this.#child = spawn(command, args, {
      cwd: "/",
      env: LAUNCH_ENVIRONMENT,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.closed = new Promise((resolve) => {
      // A command that cannot be started says so instead of ending.
      this.#child.once("error", (error) => {
        this.onStderr(Buffer.from(error.message));
        this.#over = true;
        if (this.#child.pid === undefined) resolve({ code: 127, signal: null });
      });
      this.#child.once("exit", () => (this.#over = true));
      this.#child.once("close", (code, signal) => resolve({ code, signal }));
    });
    this.#child.stdout.on("data", (bytes: Buffer) => this.onStdout(bytes));
    this.#child.stderr.on("data", (bytes: Buffer) => this.onStderr(bytes));
    // A process that ends without reading its input is no error of the host's.
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr])
      stream.on("error", () => {});
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it has ended; what it wrote may still be on its way. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Writes to its standard input. */
  write(bytes: Buffer): void {
    this.#child.stdin.write(bytes);
  }

  /** Ends its standard input. */
  endInput(): void {
    this.#child.stdin.end();
  }

  /** Kills the whole group at once; nothing in it can put that off. */
  kill(): void {
    // Once it was waited for, its number may be somebody else's.
    if (!this.#over) this.killGroup();
  }

  /** Kills the first process of the group alone. */
  killFirst(): void {
    this.#child.kill("SIGKILL");
  }

  /** Kills the group also when its first process is gone: only where another one is known to live. */
  killGroup(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      this.#child.kill("SIGKILL");
    }
  }
}
