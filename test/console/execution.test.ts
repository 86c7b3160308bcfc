import { describe, expect, it } from "vitest";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { executionOf } from "../../src/console/pages/run/execution.ts";

const RESULT = {
  status: "failed",
  stdout: "one\ntwo\n",
  stderr: "",
  stdout_truncated: false,
  stderr_truncated: false,
  result: null,
  error: { name: "ValueError", value: "no", traceback: "Traceback\nValueError: no\n" },
  exit_code: 1,
  duration_ms: 12,
};

describe("executionOf", () => {
  it("reads outcome, output and traceback of executed code", () => {
    expect(executionOf("sandbox_execute", RESULT)).toEqual({
      outcome: CallOutcome.FAILED,
      stdout: "one\ntwo\n",
      stderr: "",
      isTruncated: false,
      error: "Traceback\nValueError: no\n",
      value: undefined,
      exitCode: 1,
      durationMs: 12,
    });
  });

  it.each([
    ["succeeded", CallOutcome.SUCCEEDED],
    ["timeout", CallOutcome.TIMEOUT],
    ["cancelled", CallOutcome.CANCELLED],
    ["memory_limit", CallOutcome.LIMIT],
    ["cpu_limit", CallOutcome.LIMIT],
    ["output_limit", CallOutcome.LIMIT],
  ])("maps the status %s", (status, outcome) => {
    expect(executionOf("sandbox_execute", { ...RESULT, status, exit_code: null })).toMatchObject({
      outcome,
      exitCode: undefined,
    });
  });

  it("shows name and message of an error without a traceback", () => {
    const error = { name: "ProcessEnded", value: "killed", traceback: "" };
    expect(executionOf("sandbox_execute", { ...RESULT, error })?.error).toBe("ProcessEnded: killed");
  });

  it("ignores results of other tools and of unknown form", () => {
    expect(executionOf("echo", RESULT)).toBeUndefined();
    expect(executionOf("sandbox_execute", { status: "unknown" })).toBeUndefined();
    expect(executionOf("sandbox_execute", {})).toBeUndefined();
  });
});
