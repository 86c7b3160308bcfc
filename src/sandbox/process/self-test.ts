import type { SandboxJob, SandboxLanguage, SandboxOutcome } from "../../domain/sandbox.ts";
import type { Enclosure, LaunchLine } from "./launch-line.ts";
import type { ProcessLimits } from "./limits.ts";
import type { Worker } from "./worker.ts";

/** What the test works with. */
export interface SelfTest {
  readonly isRoot: boolean;
  readonly enclosure: Enclosure;
  readonly limits: ProcessLimits;
  readonly startWorker: (language: SandboxLanguage) => Promise<Worker>;
  readonly run: (worker: Worker, job: SandboxJob, limits: ProcessLimits) => Promise<SandboxOutcome>;
  readonly line: (language: SandboxLanguage) => LaunchLine;
  readonly signal: AbortSignal;
}

export async function selfTest(_test: SelfTest): Promise<void> {}
