/** What the settings of the server say about a restore from a backup. */
export interface RestoreMark {
  /** Identifies the restore: its target, or the name given to it. */
  readonly mark: string;
  /** Whether `after-restore` ran since. */
  readonly reconciled: boolean;
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
