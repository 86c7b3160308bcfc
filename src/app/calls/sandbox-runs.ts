import type { SandboxStatus } from "../../domain/tools/sandbox.ts";

export interface SandboxRunStart {
  /** `run_…` of the ledger, unique. */
  readonly runId: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Chosen by the caller, so that it can cancel a call before it has the response. */
  readonly name: string | undefined;
  /** Limit of active executions per account, over all instances. */
  readonly mostPerAccount: number;
}

export interface SandboxRunState {
  /** `run_…` of the ledger. */
  readonly runId: string;
  /** `running`, or how the execution ended. `failed` if its instance died. */
  readonly status: "running" | SandboxStatus;
}

/**
 * Sandbox executions of all instances. An execution is active until its end is recorded or its run ends; it
 * has no lease of its own.
 *
 * The first of cancel and end wins: an accepted cancel makes the end `cancelled` whatever the code did, and
 * after the end no cancel is accepted.
 */
export interface SandboxRuns {
  /**
   * Records an execution before it starts.
   * @throws ToolgateError RATE_LIMITED at the account's limit; REQUEST_IN_PROGRESS when an active execution
   * has the name
   */
  create(run: SandboxRunStart): Promise<void>;
  /** Records the end. @returns the final status: `cancelled` if a cancel was recorded before */
  end(runId: string, status: SandboxStatus): Promise<SandboxStatus>;
  /** Finds an execution of the account by its `run_…` or, newest first, by its name. */
  find(accountId: string, nameOrRunId: string): Promise<SandboxRunState | undefined>;
  /** Requests the end of an active execution on any instance. Idempotent. @returns whether it was active */
  requestCancel(runId: string): Promise<boolean>;
  /**
   * Calls `hear` for executions of this instance to cancel: usually at once, within a second at the latest,
   * and repeatedly until they end.
   * @returns a function that unsubscribes
   */
  onCancel(hear: (runId: string) => void): () => void;
}
