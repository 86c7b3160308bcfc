/** Whether the service can do its work. */
export interface Health {
  /** Whether the database answers. */
  check(signal: AbortSignal): Promise<boolean>;
}
