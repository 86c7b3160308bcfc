import { z } from "zod";
import type { SandboxOutcome, SandboxStatus } from "../../domain/tools/sandbox.ts";

const outcomeSchema = z.strictObject({
  status: z.enum([
    "succeeded",
    "failed",
    "timeout",
    "cancelled",
    "memory_limit",
    "cpu_limit",
    "output_limit",
  ]),
  stdout: z.string(),
  stderr: z.string(),
  stdoutTruncated: z.boolean(),
  stderrTruncated: z.boolean(),
  result: z.json(),
  error: z.strictObject({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
  exitCode: z.int().nullable(),
  durationMs: z.number().min(0),
  cpuMs: z.number().min(0).nullable(),
});

/** Result of a pod: the outcome of the code, or why it could not run. */
export const podResultSchema = z.union([
  z.strictObject({ outcome: outcomeSchema }),
  z.strictObject({ failure: z.strictObject({ message: z.string() }) }),
]);

export type PodResult = z.output<typeof podResultSchema>;

export function emptyOutcome(status: SandboxStatus, durationMs: number): SandboxOutcome {
  return {
    status,
    stdout: "",
    stderr: "",
    stdoutTruncated: false,
    stderrTruncated: false,
    result: null,
    error: null,
    exitCode: null,
    durationMs,
    cpuMs: null,
  };
}

/** Outcome of an execution stopped from outside, with its output so far. */
export function stoppedOutcome(status: "cancelled" | "timeout", outcome: SandboxOutcome): SandboxOutcome {
  return { ...outcome, status, result: null, error: null, exitCode: null };
}
