/** Values of the label `work` of toolgate_keeper_failures_total. */
export type JobName =
  | "lead"
  | "watch"
  | "rescan"
  | "reconcile"
  | "finality"
  | "audit"
  | "partitions"
  | "figures"
  | "usage"
  | "relay"
  | "fee_payer"
  | "webhooks"
  | "webhook_figures"
  | "webhook_secrets"
  | "expiring_keys";

/** A recurring job. */
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
