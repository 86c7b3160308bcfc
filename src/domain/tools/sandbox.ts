import { ToolgateError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";

/** JavaScript includes TypeScript. */
export const SANDBOX_LANGUAGES = ["python", "javascript"] as const;

export type SandboxLanguage = (typeof SANDBOX_LANGUAGES)[number];

export interface SandboxJob {
  /** `run_…`, unique: names the execution on every instance. */
  readonly runId: string;
  readonly language: SandboxLanguage;
  readonly code: string;
  /** Standard input; "" for none. */
  readonly stdin: string;
  /** Wall-clock limit, ms; 100 to 30000. */
  readonly timeoutMs: number;
}

export interface AccountJob extends SandboxJob {
  /** `acct_…`: accounts share the slots. */
  readonly accountId: string;
}

/** How an execution ended. All of these are charged: the code did run. */
export type SandboxStatus =
  | "succeeded"
  /** The code threw, exited with a code other than 0, or ended its interpreter. */
  | "failed"
  | "timeout"
  | "cancelled"
  | "memory_limit"
  | "cpu_limit"
  | "output_limit";

export interface SandboxError {
  /** e.g. "ValueError" or "TypeError" */
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}

/** Texts are well-formed Unicode and cut to their limits. */
export interface SandboxOutcome {
  readonly status: SandboxStatus;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  /** Value of the last expression (Python) or `export default` (JavaScript) as JSON; null if it has none. */
  readonly result: JsonValue;
  readonly error: SandboxError | null;
  /** Null when killed. */
  readonly exitCode: number | null;
  /** Wall-clock time, ms. */
  readonly durationMs: number;
  /** CPU time as counted by the host, ms; null if the engine cannot measure it. */
  readonly cpuMs: number | null;
}

export interface SandboxExecution {
  /**
   * @throws ToolgateError TOOL_FAILED when the engine lost it, UNAVAILABLE when aborted; neither is charged
   */
  readonly done: Promise<SandboxOutcome>;
}

export interface SandboxCapabilities {
  readonly languages: readonly SandboxLanguage[];
  /** Isolation from the outside in, e.g. ["bubblewrap", "rlimits", "deno"]. */
  readonly isolationLayers: readonly string[];
  /** Python packages besides the standard library, e.g. "six 1.17.0". */
  readonly packages: readonly string[];
}

/**
 * Runs untrusted code, each execution in a slot of its own that is discarded afterwards. Every engine
 * passes test/sandbox/engine-contract.ts.
 */
export interface SandboxEngine {
  /** E.g. "process", "kubernetes"; part of every result. */
  readonly name: string;
  /** Resolves after {@link health} has. */
  capabilities(): Promise<SandboxCapabilities>;
  /**
   * Resolves when code can run and every isolation layer was tested.
   * @throws Error naming the failed layer and what to do
   */
  health(signal: AbortSignal): Promise<void>;
  /**
   * Starts an execution. Resolves once the code was handed over.
   * @param signal aborts the execution, also while it waits for a slot
   * @throws ToolgateError UNAVAILABLE (with Retry-After) without a free slot or when the engine fails;
   * CANCELLED ({@link cancelledBeforeStart}) when cancelled before. Then nothing has run and nothing is
   * charged
   */
  start(job: AccountJob, signal: AbortSignal): Promise<SandboxExecution>;
  /**
   * Cancels an execution; one that waits for a slot never starts and its `start` throws CANCELLED. Works
   * from any instance if the engine runs elsewhere. Idempotent.
   * @returns false if it is unknown or has ended
   */
  cancel(runId: string): Promise<boolean>;
  /** Removes leftovers of older executions. @returns their number */
  reap(olderThan: Date): Promise<number>;
  close(): Promise<void>;
}

/** Error for an execution that was cancelled before its code ran. */
export function cancelledBeforeStart(): ToolgateError {
  return new ToolgateError(
    "CANCELLED",
    "the execution was cancelled before its code began; nothing was charged, repeat the call when you " +
      "want it",
  );
}

export type SelfTestStatus = "running" | "passed" | "failed";
