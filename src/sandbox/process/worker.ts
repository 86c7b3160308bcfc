import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";
import { BoundedText } from "./guest-output.ts";
import { GuestProcess, type Exit } from "./guest-process.ts";
import type { LaunchLine } from "./launch-line.ts";
import { startLow } from "./priority.ts";
import { leafOf } from "./process-table.ts";

/** Written by a worker when it can take a job. */
const READY = "\0ready\0";

/** stderr kept of a worker that failed to start. */
const MAX_STDERR_BYTES = 2_000;

export interface WorkerStart {
  readonly language: SandboxLanguage;
  readonly line: LaunchLine;
  /** Sent before it is ready. */
  readonly input: readonly Buffer[];
  readonly timeoutMs: number;
  /** Whether it starts at low priority and keeps it. Default: no. */
  readonly isLow?: boolean;
  /** Kills a worker that is no longer wanted before it is ready. */
  readonly signal: AbortSignal;
}

/** Encodes a frame for a worker: eight hexadecimal digits of length, then the bytes. */
export function frameOf(content: Buffer | object): Buffer {
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return Buffer.concat([frameLength(bytes), bytes]);
}

export function frameLength({ length }: Buffer): Buffer {
  return Buffer.from(length.toString(16).padStart(8, "0"));
}

/** A process ready for exactly one job. */
export class Worker {
  readonly language: SandboxLanguage;
  readonly process: GuestProcess;
  /** The guest's process id on this host. */
  readonly leaf: number;

  private constructor(language: SandboxLanguage, process: GuestProcess, leaf: number) {
    this.language = language;
    this.process = process;
    this.leaf = leaf;
  }

  /** Starts a worker. @throws Error with its output if it exits early or is not ready in time */
  static async start({
    language,
    line,
    input,
    timeoutMs,
    isLow = false,
    signal,
  }: WorkerStart): Promise<Worker> {
    const process = isLow ? startLow(line) : new GuestProcess(line);
    const stderr = new BoundedText(MAX_STDERR_BYTES);
    process.onStderr = (bytes) => void stderr.append(bytes);
    const kill = () => process.kill();
    const timer = setTimeout(kill, timeoutMs);
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    try {
      const isReady = readiness(process);
      for (const bytes of input) process.write(bytes);
      const exit = await Promise.race([isReady, process.closed]);
      if (exit !== "ready") throw new Error(exitMessage(language, exit, stderr.text()));
      return new Worker(language, process, leafOf(process.pid ?? 0));
    } catch (error) {
      process.kill();
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
    }
  }

  end(): void {
    this.process.kill();
  }
}

function readiness(process: GuestProcess): Promise<"ready"> {
  return new Promise((resolve) => {
    let output = "";
    process.onStdout = (bytes) => {
      output += bytes.toString("latin1");
      if (output === READY) resolve("ready");
    };
  });
}

function exitMessage(language: SandboxLanguage, { code, signal }: Exit, stderr: string): string {
  const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
  const output = stderr.trim() === "" ? "without output" : `with the output: ${stderr.trim()}`;
  return `A worker for ${language} ${how} before it was ready, ${output}`;
}
