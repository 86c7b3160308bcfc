import type { Metrics } from "../../app/metrics.ts";
import type { SandboxRuns } from "../../app/sandbox-ports.ts";
import type { SandboxEngine } from "../../domain/sandbox.ts";
import type { SelfTestStatus } from "../define-tool.ts";

export interface SandboxDeps {
  readonly engine: SandboxEngine;
  readonly runs: SandboxRuns;
  /** Self-test status of this instance. */
  readonly selfTestStatus: () => SelfTestStatus;
  readonly concurrencyPerAccount: number;
  readonly metrics: Metrics;
}
