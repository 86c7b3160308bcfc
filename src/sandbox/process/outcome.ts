import type { SandboxError, SandboxOutcome, SandboxStatus } from "../../domain/tools/sandbox.ts";
import type { GuestFrame } from "./guest-output.ts";
import type { Exit } from "./guest-process.ts";

export type HostReason = "timeout" | "cancelled" | "memory_limit" | "cpu_limit" | "output_limit";

export interface RunEnd {
  /** Undefined: it ended by itself. */
  readonly reason: HostReason | undefined;
  readonly exit: Exit;
  readonly frame: GuestFrame | undefined;
  readonly stdout: { readonly text: string; readonly truncated: boolean };
  readonly stderr: { readonly text: string; readonly truncated: boolean };
  readonly durationMs: number;
  readonly cpuMs: number;
  /** Memory use was close to the limit at the last poll. */
  readonly nearMemoryLimit: boolean;
}

/** UTF-16 units. */
const MAX_ERROR_LENGTH = 16_384;

/** Messages of runtimes that run out of memory. */
const OUT_OF_MEMORY =
  /out of memory|memory allocation of \d+ bytes failed|cannot allocate memory|resource temporarily unavailable/i;

/** Maps the facts to the outcome for the caller. */
export function outcomeOf(ending: RunEnd): SandboxOutcome {
  const { reason, frame, stdout, stderr } = ending;
  const killedBy = reason === undefined ? signalOf(ending) : "SIGKILL";
  const status = reason ?? statusOf(ending, killedBy);
  const cut = reason === undefined && stdout.truncated ? "output_limit" : status;
  return {
    status: cut,
    stdout: stdout.text,
    stderr: stderr.text,
    stdoutTruncated: stdout.truncated,
    stderrTruncated: stderr.truncated,
    result: frame?.result ?? null,
    error: cutError(
      frame?.error ??
        (status === "failed" && frame === undefined ? endedWithoutResult(killedBy, stderr.text) : null),
    ),
    exitCode: killedBy === undefined ? ending.exit.code : null,
    durationMs: Math.round(ending.durationMs),
    cpuMs: Math.round(ending.cpuMs),
  };
}

function statusOf(ending: RunEnd, killedBy: string | undefined): SandboxStatus {
  const { frame, exit, stdout, stderr } = ending;
  if (stdout.truncated || stderr.truncated || frame?.tooLarge === true) return "output_limit";
  if (killedBy === "SIGXCPU") return "cpu_limit";
  if (frame !== undefined) {
    if (frame.error !== null && isMemoryError(frame.error)) return "memory_limit";
    return frame.error === null && exit.code === 0 ? "succeeded" : "failed";
  }
  if (ending.nearMemoryLimit || (killedBy !== undefined && OUT_OF_MEMORY.test(stderr.text)))
    return "memory_limit";
  return "failed";
}

/** Returns the signal that ended it. Wrappers report it as exit code 128 plus its number. */
function signalOf({ exit, frame }: RunEnd): string | undefined {
  if (exit.signal !== null) return exit.signal;
  if (frame !== undefined || exit.code === null || exit.code <= 128) return undefined;
  return exit.code === 128 + 24 ? "SIGXCPU" : `signal ${exit.code - 128}`;
}

function isMemoryError({ name, value }: SandboxError): boolean {
  return (
    name === "MemoryError" ||
    (name === "RangeError" && /allocation failed|could not allocate|out of memory/i.test(value))
  );
}

function endedWithoutResult(killedBy: string | undefined, stderr: string): SandboxError {
  const waits = "error: Top-level await promise never resolved";
  const value =
    killedBy !== undefined
      ? `The code's process was killed by ${killedBy}.`
      : stderr.includes(waits)
        ? "The module waits at its top level for a promise that never settles."
        : "The code's process ended without an answer.";
  return { name: "ProcessEnded", value, traceback: "" };
}

function cutError(error: SandboxError | null): SandboxError | null {
  if (error === null) return null;
  const cut = (text: string) => text.slice(0, MAX_ERROR_LENGTH).toWellFormed();
  return { name: cut(error.name), value: cut(error.value), traceback: cut(error.traceback) };
}
