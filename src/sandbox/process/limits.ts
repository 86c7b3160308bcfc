import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";

/** What one execution may use. */
export interface ProcessLimits {
  /** Memory beyond what an idle JavaScript runtime holds, MiB. Python's interpreter takes about 190 MiB of it. */
  readonly memoryMb: Readonly<Record<SandboxLanguage, number>>;
  /** Processor time of all its threads from the start of the code, ms. */
  readonly cpuMs: number;
  /** stdout and stderr, bytes of UTF-8 each, as they are told; as JSON half as much again. */
  readonly outputBytes: number;
}

/** Together with a result of 256 KiB, an answer that stays below gRPC's 4 MiB. */
export const DEFAULT_LIMITS: ProcessLimits = {
  memoryMb: { javascript: 256, python: 512 },
  cpuMs: 10_000,
  outputBytes: 1_048_576,
};

/** Longest result, bytes of JSON. */
export const MAX_RESULT_BYTES = 262_144;

/** Longest frame in which a worker tells how the code ended, bytes: a result of 256 KiB, and an error of three texts. */
export const MAX_FRAME_BYTES = 1_048_576;

/** What the pages of the programs themselves add to the memory that a process has in use, MiB. */
export const PROGRAM_PAGES_MB = 96;

/** Processor time that a worker may take before its job begins, s: starting Python takes 2 to 5. */
export const START_CPU_SECONDS = 60;
