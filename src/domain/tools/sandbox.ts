import { ToolgateError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";

/** Languages that code may be written in. JavaScript may be TypeScript. */
export const SANDBOX_LANGUAGES = ["python", "javascript"] as const;

/** One of {@link SANDBOX_LANGUAGES}. */
export type SandboxLanguage = (typeof SANDBOX_LANGUAGES)[number];

/** Code that is to run, once, alone. */
export interface SandboxJob {
  /** `run_…`, unique: names the execution on every instance, before and after it has begun. */
  readonly runId: string;
  readonly language: SandboxLanguage;
  readonly code: string;
  /** What the code reads from its standard input; "" for none. */
  readonly stdin: string;
  /** Wall-clock time that the code may take, ms; 100 to 30000. */
  readonly timeoutMs: number;
}

/** How an execution ended. All of them are results that are paid for: the code did run. */
export type SandboxStatus =
  | "succeeded"
  /** The code threw, exited with another code than 0, or ended its own interpreter. */
  | "failed"
  | "timeout"
  | "cancelled"
  | "memory_limit"
  | "cpu_limit"
  | "output_limit";

/** What the code threw. */
export interface SandboxError {
  /** e.g. "ValueError" or "TypeError" */
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}

/** What came of it. Every text is well-formed Unicode and cut to its limit. */
export interface SandboxOutcome {
  readonly status: SandboxStatus;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  /** The value of the last expression (Python) or of `export default` (JavaScript), as far as JSON can tell it; else null. */
  readonly result: JsonValue;
  readonly error: SandboxError | null;
  /** Null when it was killed. */
  readonly exitCode: number | null;
  /** Wall-clock time from the start of the code, ms. */
  readonly durationMs: number;
  /** Processor time from the start of the code, ms, as the host counted it; null where the engine cannot tell. */
  readonly cpuMs: number | null;
}

/** An execution that has begun. */
export interface SandboxExecution {
  /** @throws ToolgateError TOOL_FAILED when the engine lost it, UNAVAILABLE when it was aborted: either way nobody is charged */
  readonly done: Promise<SandboxOutcome>;
}

/** What an engine offers. */
export interface SandboxCapabilities {
  readonly languages: readonly SandboxLanguage[];
  /** What stands between the code and the host, from the outside in, e.g. ["bubblewrap", "rlimits", "deno"]. */
  readonly isolationLayers: readonly string[];
  /** Python packages that can be imported besides the standard library, e.g. "six 1.17.0". */
  readonly packages: readonly string[];
}

/**
 * Runs code that nobody trusts, each piece in a place of its own that is thrown away after it. The contract that every engine keeps is
 * test/sandbox/engine-contract.ts.
 */
export interface SandboxEngine {
  /** e.g. "process", "kubernetes"; part of every result. */
  readonly name: string;
  /** Known once {@link health} has resolved. */
  capabilities(): Promise<SandboxCapabilities>;
  /**
   * Resolves when code can be run and every wall was seen to hold.
   * @throws Error that says which does not, and what to do
   */
  health(signal: AbortSignal): Promise<void>;
  /**
   * Begins an execution. Resolves once the code has been handed over.
   * @param signal aborts the execution, also while it waits for its place, when its result is no longer wanted
   * @throws ToolgateError UNAVAILABLE (with Retry-After) when there is no place for it, or the engine is in trouble; CANCELLED
   *   ({@link cancelledBeforeStart}) when it was cancelled before that; nothing has run then, and nobody is charged
   */
  start(job: SandboxJob, signal: AbortSignal): Promise<SandboxExecution>;
  /**
   * Ends an execution, which then is `cancelled`; one that waits for its place never begins: its `start` throws CANCELLED. Any instance may ask an engine that works elsewhere;
   * one that works here knows its own.
   * @returns false when there is none that could be ended: unknown, or over. Idempotent.
   */
  cancel(runId: string): Promise<boolean>;
  /** Removes what executions that began before have left behind. @returns how many */
  reap(olderThan: Date): Promise<number>;
  /** Ends everything. */
  close(): Promise<void>;
}

/** What the caller is told whose execution was cancelled before any of its code had run. */
export function cancelledBeforeStart(): ToolgateError {
  return new ToolgateError(
    "CANCELLED",
    "the execution was cancelled before its code began; nothing was charged, repeat the call when you want it",
  );
}
