export interface Health {
  /** Whether the database answers. */
  check(signal: AbortSignal): Promise<boolean>;
}
