export interface EndedJob {
  readonly name: JobName;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** Interval between runs, ms. */
  readonly everyMs: number;
  /** Undefined: it succeeded. */
  readonly failure: string | undefined;
}

/** The last run of a job on any instance. */
export interface JobState extends Omit<EndedJob, "name"> {
  readonly name: string;
  /** A UUID. */
  readonly instance: string;
  /** Failures in a row. */
  readonly failures: bigint;
  readonly succeededAt: Date | undefined;
}

export interface JobOverview {
  /** By name. */
  readonly jobs: readonly JobState[];
  /** Undefined: no instance leads. */
  readonly leader: { readonly instance: string; readonly until: Date } | undefined;
  readonly instance: string;
}

export interface JobRuns {
  record(run: EndedJob): Promise<void>;
  overview(): Promise<JobOverview>;
}

/** Values of the label `work` of toolgate_keeper_failures_total. */
export type JobName =
  | "lead"
  | "watch"
  | "rescan"
  | "reconcile"
  | "finality"
  | "audit"
  | "full_audit"
  | "partitions"
  | "figures"
  | "usage"
  | "relay"
  | "fee_payer"
  | "webhooks"
  | "webhook_figures"
  | "webhook_secrets"
  | "expiring_keys";

export interface Job {
  readonly name: JobName;
  /** Delay before the first run, ms. */
  readonly afterMs: number;
  /** Interval between runs, ms. */
  readonly everyMs: number;
  /** Time limit of a run, ms. */
  readonly limitMs: number;
  /** Runs once. Must be safe to abort anywhere and to run twice or concurrently on another instance. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Resets what this instance reports only as leader. */
  onLeadershipLost?(): void;
}
