import type { Metrics } from "../../app/operations/metrics.ts";
import type { SandboxRuns } from "../../app/calls/sandbox-runs.ts";
import type { SandboxEngine, SelfTestStatus } from "../../domain/tools/sandbox.ts";

export interface SandboxDeps {
  readonly engine: SandboxEngine;
  readonly runs: SandboxRuns;
  /** Self-test status of this instance. */
  readonly selfTestStatus: () => SelfTestStatus;
  readonly concurrencyPerAccount: number;
  readonly metrics: Metrics;
}
