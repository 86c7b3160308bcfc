import type { Metrics } from "../../app/metrics.ts";
import type { SandboxRuns } from "../../app/sandbox-ports.ts";
import type { SandboxEngine } from "../../domain/sandbox.ts";
import type { SelfTestStatus } from "../define-tool.ts";

/** What the tools of the sandbox need. */
export interface SandboxDeps {
  readonly engine: SandboxEngine;
  readonly runs: SandboxRuns;
  /** Whether the self-test of this instance has passed. */
  readonly selfTestStatus: () => SelfTestStatus;
  /** Executions that one account may have at once. */
  readonly concurrencyPerAccount: number;
  readonly metrics: Metrics;
}
