import type { JsonObject, JsonValue } from "../../domain/json.ts";
import type { SandboxOutcome } from "../../domain/sandbox.ts";

/** Deepest nesting of a value that is handed on, as of a request's: whoever writes and reads it again does so by recursion. */
const MAX_DEPTH = 64;

/** The result of `sandbox_execute`. */
export function resultOf(
  outcome: SandboxOutcome,
  { runId, language, engine }: { runId: string; language: string; engine: string },
): JsonObject {
  const { status, error } = outcome;
  return {
    run_id: runId,
    status,
    stdout: outcome.stdout,
    stderr: outcome.stderr,
    stdout_truncated: outcome.stdoutTruncated,
    stderr_truncated: outcome.stderrTruncated,
    result: isDeeper(outcome.result, MAX_DEPTH) ? null : outcome.result,
    error: error && { name: error.name, value: error.value, traceback: error.traceback },
    exit_code: outcome.exitCode,
    duration_ms: outcome.durationMs,
    cpu_ms: outcome.cpuMs,
    language,
    engine,
  };
}

/** Whether arrays and objects lie in each other more than `levels` deep. */
function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
