import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";

export interface ProcessLimits {
  /** MiB beyond an idle JavaScript runtime. Python's interpreter uses about 190 MiB of it. */
  readonly memoryMb: Readonly<Record<SandboxLanguage, number>>;
  /** CPU time of all threads from the start of the code, ms. */
  readonly cpuMs: number;
  /** Limit of stdout and of stderr, bytes of UTF-8; as JSON 1.5 times that. */
  readonly outputBytes: number;
}

/** Together with a result of 256 KiB this stays below the 4 MiB of gRPC. */
export const DEFAULT_LIMITS: ProcessLimits = {
  memoryMb: { javascript: 256, python: 512 },
  cpuMs: 10_000,
  outputBytes: 1_048_576,
};

/** Bytes of JSON. */
export const MAX_RESULT_BYTES = 262_144;

/** Frame with the result (256 KiB) and an error of three texts, bytes. */
export const MAX_FRAME_BYTES = 1_048_576;

/** Resident pages of the programs themselves, MiB. */
export const PROGRAM_PAGES_MB = 96;

/** CPU time before the job starts, s. Starting Python takes 2 to 5. */
export const START_CPU_SECONDS = 60;
