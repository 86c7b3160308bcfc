import type { Metrics } from "../../app/metrics.ts";
import type { SandboxRuns } from "../../app/sandbox-ports.ts";
import type { SandboxEngine } from "../../domain/sandbox.ts";

/** What the tools of the sandbox need. */
export interface SandboxDeps {
  readonly engine: SandboxEngine;
  readonly runs: SandboxRuns;
  /** Whether every wall was seen to hold; the tools are announced only until then. */
  readonly proven: () => boolean;
  /** Executions that one key may have at once. */
  readonly concurrencyPerKey: number;
  readonly metrics: Metrics;
}
