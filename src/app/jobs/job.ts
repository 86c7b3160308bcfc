/** The kinds of work, as the label `work` of toolgate_keeper_failures_total names them. */
export type JobName =
  | "lead"
  | "watch"
  | "rescan"
  | "reconcile"
  | "finality"
  | "audit"
  | "figures"
  | "relay"
  | "fee_payer";

/** Work that comes round and round. */
export interface Job {
  readonly name: JobName;
  /** Pause before the first round, ms. */
  readonly afterMs: number;
  /** Pause between two rounds, ms. */
  readonly everyMs: number;
  /** Longest that a round may take, ms: one that hangs is given up and begun anew. */
  readonly limitMs: number;
  /**
   * One round. It may be cut off anywhere, and another instance may be at the same work: whatever it does holds when it is done
   * twice or half.
   */
  run(signal: AbortSignal): Promise<unknown>;
  /** Takes back what this instance tells as long as it does the work. */
  onLeadershipLost?(): void;
}
