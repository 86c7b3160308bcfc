import { randomBytes } from "node:crypto";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { SandboxJob, SandboxLanguage, SandboxOutcome } from "../../domain/tools/sandbox.ts";
import { BoundedText, FrameReader } from "./guest-output.ts";
import { PROGRAM_PAGES_MB, type ProcessLimits } from "./limits.ts";
import { outcomeOf, type HostReason } from "./outcome.ts";
import { usageOf, type Usage } from "./process-table.ts";
import { frameOf, type Worker } from "./worker.ts";

/** Polling interval of CPU time and memory, ms. */
const POLL_MS = 20;

export interface RunLimits extends ProcessLimits {
  /** RLIMIT_DATA of the workers, MiB. */
  readonly dataMb: Readonly<Record<SandboxLanguage, number>>;
}

export class Run {
  readonly #worker: Worker;
  readonly #limits: RunLimits;
  readonly #stdout: BoundedText;
  readonly #stderr: BoundedText;
  readonly #frames: FrameReader;
  readonly #startedAt = performance.now();
  readonly #before: number;
  readonly #timers: readonly NodeJS.Timeout[];
  #last: Usage | undefined;
  #reason: HostReason | "aborted" | undefined;
  /** Rejects with ToolgateError UNAVAILABLE if aborted. */
  readonly done: Promise<SandboxOutcome>;

  constructor(worker: Worker, job: SandboxJob, limits: RunLimits, signal: AbortSignal) {
    this.#worker = worker;
    this.#limits = limits;
    this.#stdout = new BoundedText(limits.outputBytes);
    this.#stderr = new BoundedText(limits.outputBytes);
    const nonce = randomBytes(16).toString("hex");
    this.#frames = new FrameReader(nonce, (bytes) => this.#append(this.#stdout, bytes));
    const { process } = worker;
    process.onStdout = (bytes) => {
      const wasComplete = this.#frames.isComplete;
      this.#frames.add(bytes);
      // This frame is the last. Polls now, since a short run ends before the next interval.
      if (!wasComplete && this.#frames.isComplete) this.#poll();
    };
    process.onStderr = (bytes) => this.#append(this.#stderr, bytes);
    this.#last = usageOf(worker.leaf);
    this.#before = this.#last?.cpuMs ?? 0;
    this.#timers = [
      setTimeout(() => this.#end("timeout"), job.timeoutMs),
      setInterval(() => this.#poll(), POLL_MS),
    ];
    const abort = () => this.#end("aborted");
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    process.write(frameOf({ code: job.code, nonce }));
    if (job.stdin !== "") process.write(Buffer.from(job.stdin));
    process.endInput();
    this.done = process.closed
      .then((exit) => this.#finish(exit))
      .finally(() => signal.removeEventListener("abort", abort));
  }

  /** Cancels the run. @returns false if it already ended or is being stopped */
  cancel(): boolean {
    return this.#end("cancelled");
  }

  /** Stops the run without a result; `done` rejects and nothing is charged. */
  abort(): void {
    this.#end("aborted");
  }

  #end(reason: HostReason | "aborted"): boolean {
    if (this.#reason !== undefined) return false;
    this.#reason = reason;
    this.#worker.end();
    return true;
  }

  #append(text: BoundedText, bytes: Uint8Array): void {
    if (!text.append(bytes)) this.#end("output_limit");
  }

  #poll(): void {
    const usage = usageOf(this.#worker.leaf);
    // A zombie still has CPU time, but no memory.
    if (usage === undefined) return;
    this.#last = usage.dataMb === 0 ? { ...usage, dataMb: this.#last?.dataMb ?? 0 } : usage;
    if (usage.cpuMs - this.#before > this.#limits.cpuMs) this.#end("cpu_limit");
    if (usage.residentMb > this.#mostResidentMb()) this.#end("memory_limit");
  }

  #mostResidentMb(): number {
    return this.#limits.memoryMb[this.#worker.language] + PROGRAM_PAGES_MB;
  }

  #finish(exit: { code: number | null; signal: string | null }): SandboxOutcome {
    for (const timer of this.#timers) clearTimeout(timer);
    // The kernel may have killed the process at the same time; the host's earlier decision counts.
    const reason = this.#reason;
    this.#reason ??= "cancelled";
    if (reason === "aborted") throw new ToolgateError("UNAVAILABLE", "The execution was aborted.");
    const frame = this.#frames.end();
    const textOf = (bounded: BoundedText) => ({ text: bounded.text(), truncated: bounded.truncated });
    return outcomeOf({
      reason,
      exit,
      frame,
      stdout: textOf(this.#stdout),
      stderr: textOf(this.#stderr),
      durationMs: performance.now() - this.#startedAt,
      cpuMs: (this.#last?.cpuMs ?? this.#before) - this.#before,
      nearMemoryLimit: (this.#last?.dataMb ?? 0) > this.#limits.dataMb[this.#worker.language] * 0.95,
    });
  }
}
