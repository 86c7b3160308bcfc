import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";

/** The result of sandbox_execute. */
export interface Execution {
  readonly outcome: CallOutcome;
  readonly stdout: string;
  readonly stderr: string;
  readonly isTruncated: boolean;
  /** Traceback of the error, or its name and message; undefined without an error. */
  readonly error: string | undefined;
  /** Value of the code; undefined if it has none. */
  readonly value: JsonValue | undefined;
  readonly exitCode: number | undefined;
  readonly durationMs: number | undefined;
}

const OUTCOMES: ReadonlyMap<JsonValue | undefined, CallOutcome> = new Map([
  ["succeeded", CallOutcome.SUCCEEDED],
  ["failed", CallOutcome.FAILED],
  ["timeout", CallOutcome.TIMEOUT],
  ["cancelled", CallOutcome.CANCELLED],
  ["memory_limit", CallOutcome.LIMIT],
  ["cpu_limit", CallOutcome.LIMIT],
  ["output_limit", CallOutcome.LIMIT],
]);

/** Reads the result of a tool; undefined if the tool is not sandbox_execute. */
export function executionOf(tool: string, result: JsonObject): Execution | undefined {
  const outcome = OUTCOMES.get(result["status"]);
  if (tool !== "sandbox_execute" || outcome === undefined) return undefined;
  return {
    outcome,
    stdout: textOf(result["stdout"]),
    stderr: textOf(result["stderr"]),
    isTruncated: result["stdout_truncated"] === true || result["stderr_truncated"] === true,
    error: errorOf(result["error"]),
    value: result["result"] ?? undefined,
    exitCode: numberOf(result["exit_code"]),
    durationMs: numberOf(result["duration_ms"]),
  };
}

function errorOf(error: JsonValue | undefined): string | undefined {
  if (typeof error !== "object" || error === null || Array.isArray(error)) return undefined;
  const traceback = textOf(error["traceback"]);
  return traceback === "" ? `${textOf(error["name"])}: ${textOf(error["value"])}` : traceback;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
