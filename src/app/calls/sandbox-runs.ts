import type { SandboxStatus } from "../../domain/tools/sandbox.ts";

/** An execution that wants to begin. */
export interface SandboxRunStart {
  /** `run_…` of the ledger; unique. */
  readonly runId: string;
  readonly accountId: string;
  readonly keyId: string;
  /** The name that the caller chose, by which it can cancel a call whose answer it still waits for. */
  readonly name: string | undefined;
  /** How many executions of one account may be active at once, over all instances. */
  readonly mostPerAccount: number;
}

/** What is known of an execution. */
export interface SandboxRunState {
  /** `run_…` of the ledger. */
  readonly runId: string;
  /** `running` until it is over; then how it ended. An execution whose instance died is `failed`. */
  readonly status: "running" | SandboxStatus;
}

/**
 * The executions of all instances on one database. An execution is active until its end is recorded, or its run in the ledger is over:
 * it has no lease of its own.
 *
 * Of a cancel and an end the one that came first counts: a cancel that was accepted makes the end `cancelled`, whatever the code did
 * meanwhile; after the end no cancel is accepted.
 */
export interface SandboxRuns {
  /**
   * Records an execution before it begins.
   * @throws ToolgateError RATE_LIMITED when the key has as many already; REQUEST_IN_PROGRESS when the name belongs to one that is active
   */
  begin(run: SandboxRunStart): Promise<void>;
  /** Records how it ended. @returns what counts: `cancelled`, when its cancel came first */
  end(runId: string, status: SandboxStatus): Promise<SandboxStatus>;
  /**
   * The account's execution with that `run_…` or, the newest, with that name.
   * @returns undefined for one that is unknown or another account's
   */
  find(accountId: string, nameOrRunId: string): Promise<SandboxRunState | undefined>;
  /** Asks for the end of an active execution, wherever it runs. @returns whether it was active; asking twice is no error */
  requestCancel(runId: string): Promise<boolean>;
  /**
   * Hears of executions of this instance that are to be ended: at once as a rule, within a second at the latest, and time and again
   * until they have.
   * @returns what ends the hearing
   */
  onCancel(hear: (runId: string) => void): () => void;
}
