import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";
import { BoundedText } from "./guest-output.ts";
import { GuestProcess, type Exit } from "./guest-process.ts";
import type { LaunchLine } from "./launch-line.ts";
import { leafOf } from "./process-table.ts";

/** What a worker writes when a job may come. */
const READY = "\0ready\0";

/** How much of what a worker says that cannot start is kept, bytes. */
const MAX_STDERR_BYTES = 2_000;

/** What a worker is started with. */
export interface WorkerStart {
  readonly language: SandboxLanguage;
  readonly line: LaunchLine;
  /** What it reads before it is ready. */
  readonly input: readonly Buffer[];
  /** Longest that it may take to be ready, ms. */
  readonly timeoutMs: number;
  /** Ends it when it is not wanted any more before it is ready. */
  readonly signal: AbortSignal;
}

/** A frame as a worker reads it: the length in eight hexadecimal digits, and the bytes. */
export function frameOf(content: Buffer | object): Buffer {
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return Buffer.concat([frameLength(bytes), bytes]);
}

/** What stands before the bytes of a frame. */
export function frameLength({ length }: Buffer): Buffer {
  return Buffer.from(length.toString(16).padStart(8, "0"));
}

/** A process that is ready for one job, and for no second one. */
export class Worker {
  readonly language: SandboxLanguage;
  readonly process: GuestProcess;
  /** The process that the guest runs in, as this host numbers it. */
  readonly leaf: number;
  readonly readySince: number = performance.now();

  private constructor(language: SandboxLanguage, process: GuestProcess, leaf: number) {
    this.language = language;
    this.process = process;
    this.leaf = leaf;
  }

  /**
   * Starts one.
   * @throws Error with what it said when it ended before it was ready, or was not ready in time
   */
  static async start({ language, line, input, timeoutMs: mostMs, signal }: WorkerStart): Promise<Worker> {
    const process = new GuestProcess(line);
    const complaint = new BoundedText(MAX_STDERR_BYTES);
    process.onStderr = (bytes) => void complaint.append(bytes);
    const giveUp = () => process.kill();
    const timer = setTimeout(giveUp, mostMs);
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    try {
      const isReady = readiness(process);
      for (const bytes of input) process.write(bytes);
      const exit = await Promise.race([isReady, process.closed]);
      if (exit !== "ready") throw new Error(sentence(language, exit, complaint.text()));
      return new Worker(language, process, leafOf(process.pid ?? 0));
    } catch (error) {
      process.kill();
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Ends it. */
  end(): void {
    this.process.kill();
  }
}

function readiness(process: GuestProcess): Promise<"ready"> {
  return new Promise((resolve) => {
    let heard = "";
    process.onStdout = (bytes) => {
      heard += bytes.toString("latin1");
      if (heard === READY) resolve("ready");
    };
  });
}

function sentence(language: SandboxLanguage, { code, signal }: Exit, complaint: string): string {
  const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
  const said = complaint.trim() === "" ? "without a word" : `and said: ${complaint.trim()}`;
  return `A worker for ${language} ${how} before it was ready, ${said}`;
}
