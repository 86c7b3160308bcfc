import { ToolgateError } from "../../../src/domain/core/errors.ts";
import {
  cancelledBeforeStart,
  type SandboxEngine,
  type AccountJob,
  type SandboxOutcome,
  type SelfTestStatus,
} from "../../../src/domain/tools/sandbox.ts";
import { silentMetrics } from "../../../src/metrics/silent-metrics.ts";
import type { SandboxDeps } from "../../../src/tools/built-in.ts";

/**
 * Sandbox dependencies for tests that never run code.
 * @param status status of the self-test
 */
export function unaskedSandbox(proof: () => SelfTestStatus = () => "passed"): SandboxDeps {
  const unasked = () => Promise.reject(new Error("not asked"));
  const runs = {
    create: unasked,
    end: unasked,
    find: unasked,
    requestCancel: unasked,
    onCancel: () => () => {},
  };
  return {
    engine: new ScriptedEngine(),
    runs,
    selfTestStatus: proof,
    concurrencyPerAccount: 2,
    metrics: silentMetrics,
  };
}

/** A successful outcome without output. */
export const SUCCEEDED: SandboxOutcome = {
  status: "succeeded",
  stdout: "",
  stderr: "",
  stdoutTruncated: false,
  stderrTruncated: false,
  result: null,
  error: null,
  exitCode: 0,
  durationMs: 1,
  cpuMs: 1,
};

/** An engine whose starts and endings a test controls. */
export class ScriptedEngine implements SandboxEngine {
  readonly name = "scripted";
  readonly jobs: AccountJob[] = [];
  readonly #waiting = new Map<string, PromiseWithResolvers<never>>();
  readonly cancelled: string[] = [];
  /** Blocks the next executions. */
  place: Promise<void> = Promise.resolve();
  readonly #ends = new Map<string, PromiseWithResolvers<SandboxOutcome>>();

  async capabilities() {
    return { languages: ["python", "javascript"] as const, isolationLayers: ["script"], packages: [] };
  }

  async health(): Promise<void> {}

  async start(job: AccountJob, signal: AbortSignal) {
    const waiting = Promise.withResolvers<never>();
    this.#waiting.set(job.runId, waiting);
    await Promise.race([this.place, waiting.promise]).finally(() => this.#waiting.delete(job.runId));
    const end = Promise.withResolvers<SandboxOutcome>();
    end.promise.catch(() => {});
    this.#ends.set(job.runId, end);
    signal.addEventListener("abort", () => end.reject(new ToolgateError("UNAVAILABLE", "aborted")));
    this.jobs.push(job);
    return { done: end.promise };
  }

  end(runId: string, outcome: Partial<SandboxOutcome> | Error): void {
    const end = this.#ends.get(runId);
    if (!end) throw new Error(`${runId} has not started`);
    this.#ends.delete(runId);
    if (outcome instanceof Error) end.reject(outcome);
    else end.resolve({ ...SUCCEEDED, ...outcome });
  }

  async cancel(runId: string): Promise<boolean> {
    this.cancelled.push(runId);
    const waiting = this.#waiting.get(runId);
    waiting?.reject(cancelledBeforeStart());
    if (waiting !== undefined) return true;
    if (!this.#ends.has(runId)) return false;
    this.end(runId, { status: "cancelled", exitCode: null });
    return true;
  }

  async reap(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {}
}
