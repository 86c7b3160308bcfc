/** What a database says about its restore from a backup. */
export interface RestoreMark {
  /** Identifies the restore: its target, the name given to it, or the cluster that it was restored into. */
  readonly mark: string;
  /** When `after-restore` last ran since; null: not yet. */
  readonly reconciledAt: Date | null;
}

/** Queries about a database that was restored from a backup. */
export interface Restores {
  /** Undefined when the database was not restored, or is a standby's that took over. */
  mark(): Promise<RestoreMark | undefined>;
  /** Returns which of these operator actions (`act_…`) are not stored. */
  missingActions(actionIds: readonly string[]): Promise<string[]>;
  /** Returns which of these receipts (`rcpt_…`) are not stored. */
  missingReceipts(receiptIds: readonly string[]): Promise<string[]>;
}
