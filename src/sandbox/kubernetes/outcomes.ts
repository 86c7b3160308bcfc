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

/** What a pod tells at its end: how the code ended, or why it could not be run. */
export const podResultSchema = z.union([
  z.strictObject({ outcome: outcomeSchema }),
  z.strictObject({ failure: z.strictObject({ message: z.string() }) }),
]);

/** What a pod tells at its end. */
export type PodResult = z.output<typeof podResultSchema>;

/** How an execution ended that could not tell it itself. */
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

/** An execution that was ended from outside, with what it had said until then. */
export function stoppedOutcome(status: "cancelled" | "timeout", said: SandboxOutcome): SandboxOutcome {
  return { ...said, status, result: null, error: null, exitCode: null };
}
