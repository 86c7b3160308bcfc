import type { JsonObject, JsonValue } from "../../domain/core/json.ts";
import type { SandboxOutcome } from "../../domain/tools/sandbox.ts";

/** The same limit as for requests: serialisers recurse. */
const MAX_DEPTH = 64;

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

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
