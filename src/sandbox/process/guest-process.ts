import { spawn, type ChildProcessByStdio } from "node:child_process";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { LAUNCH_ENVIRONMENT, type LaunchLine } from "./launch-line.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

type Listener = (bytes: Buffer) => void;

/** A process in its own process group. */
export class GuestProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Resolves after exit, when all output has been read. */
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
      // A failed spawn emits no exit event.
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
    // A process that exits without reading its input is not an error.
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr])
      stream.on("error", () => {});
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it has exited; output may still arrive. */
  get isOver(): boolean {
    return this.#over;
  }

  write(bytes: Buffer): void {
    this.#child.stdin.write(bytes);
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  kill(): void {
    // After wait(), the kernel may reuse the id.
    if (!this.#over) this.killGroup();
  }

  /** Kills only the first process of the group. */
  killFirst(): void {
    this.#child.kill("SIGKILL");
  }

  /** Kills the group even after its first process exited. Only safe while another member lives. */
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
